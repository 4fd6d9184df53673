// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/simd/instruction_set.h"

#include <fmt/ranges.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "edgewise/base/error.h"

namespace edgewise::kernels {
namespace {

struct Entry {
  InstructionSet set;
  std::string_view name;
  std::int64_t highway_targets;  // bits of HWY_*; 0 for the reference
};

constexpr std::array kEntries = {
    Entry{InstructionSet::kReference, "reference", 0},
    Entry{InstructionSet::kGeneric, "generic", HWY_EMU128 | HWY_SCALAR},
    Entry{InstructionSet::kNeon, "neon", HWY_NEON},
    Entry{InstructionSet::kAvx2, "avx2", HWY_AVX2},
    Entry{InstructionSet::kAvx512, "avx512", HWY_AVX3},
};

const Entry& find_entry(InstructionSet set) { return *std::ranges::find(kEntries, set, &Entry::set); }

/// Returns the targets that Highway detects on this machine. A forced set does not change the result.
std::int64_t detected_targets() {
  static const std::int64_t targets = hwy::SupportedTargets();
  return targets;
}

bool can_run(const Entry& entry) {
  return entry.set == InstructionSet::kReference || (entry.highway_targets & detected_targets() & HWY_TARGETS) != 0;
}

void restrict_highway(InstructionSet set) {
  hwy::SetSupportedTargetsForTest(find_entry(set).highway_targets & detected_targets());  // 0: no limit
}

InstructionSet& current_set() {
  static InstructionSet set = [] {
    const InstructionSet chosen = named_instruction_set().value_or(runnable_instruction_sets().back());
    restrict_highway(chosen);
    return chosen;
  }();
  return set;
}

}  // namespace

std::string_view instruction_set_name(InstructionSet set) { return find_entry(set).name; }

InstructionSet instruction_set() { return current_set(); }

std::vector<InstructionSet> runnable_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const Entry& entry : kEntries) {
    if (can_run(entry)) sets.push_back(entry.set);
  }
  return sets;
}

std::optional<InstructionSet> named_instruction_set() {
  const char* name = std::getenv("EDGEWISE_KERNELS");
  if (name == nullptr || *name == '\0') return std::nullopt;
  for (const Entry& entry : kEntries) {
    if (entry.name == name && can_run(entry)) return entry.set;
  }
  std::vector<std::string_view> names;
  for (const InstructionSet set : runnable_instruction_sets()) names.push_back(instruction_set_name(set));
  fail("EDGEWISE_KERNELS: value is '{}', needs one of {} on this machine", name, fmt::join(names, ", "));
}

bool has_fast_bf16_instructions() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

ForcedInstructionSet::ForcedInstructionSet(InstructionSet set) : before_(current_set()) {
  restrict_highway(set);
  current_set() = set;
}

ForcedInstructionSet::~ForcedInstructionSet() {
  restrict_highway(before_);
  current_set() = before_;
}

}  // namespace edgewise::kernels
