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

struct Known {
  InstructionSet set;
  std::string_view name;
  std::int64_t highway_targets;  // 0: none of Highway's
};

constexpr std::array kKnown = {
    Known{InstructionSet::kReference, "reference", 0},
    Known{InstructionSet::kGeneric, "generic", HWY_EMU128 | HWY_SCALAR},
    Known{InstructionSet::kNeon, "neon", HWY_NEON},
    Known{InstructionSet::kAvx2, "avx2", HWY_AVX2},
    Known{InstructionSet::kAvx512, "avx512", HWY_AVX3},
};

const Known& known(InstructionSet set) { return *std::ranges::find(kKnown, set, &Known::set); }

// What Highway found before anything was forced.
std::int64_t highway_targets_of_machine() {
  static const std::int64_t targets = hwy::SupportedTargets();
  return targets;
}

bool can_run(const Known& entry) {
  return entry.set == InstructionSet::kReference ||
         (entry.highway_targets & highway_targets_of_machine() & HWY_TARGETS) != 0;
}

std::vector<std::string_view> runnable_names() {
  std::vector<std::string_view> names;
  for (const InstructionSet set : runnable_instruction_sets()) names.push_back(instruction_set_name(set));
  return names;
}

void use(InstructionSet set) {
  const std::int64_t targets = known(set).highway_targets & highway_targets_of_machine();
  hwy::SetSupportedTargetsForTest(targets);  // 0 means no limit
}

InstructionSet chosen_at_start() {
  const char* wanted = std::getenv("EDGEWISE_KERNELS");
  if (wanted == nullptr || *wanted == '\0') return runnable_instruction_sets().back();
  for (const Known& entry : kKnown) {
    if (entry.name == wanted && can_run(entry)) return entry.set;
  }
  fail("EDGEWISE_KERNELS: value is '{}', needs one of {} on this machine", wanted, fmt::join(runnable_names(), ", "));
}

InstructionSet& in_force() {
  static InstructionSet set = [] {
    const InstructionSet chosen = chosen_at_start();
    use(chosen);
    return chosen;
  }();
  return set;
}

}  // namespace

std::string_view instruction_set_name(InstructionSet set) { return known(set).name; }

InstructionSet instruction_set() { return in_force(); }

std::vector<InstructionSet> runnable_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const Known& entry : kKnown) {
    if (can_run(entry)) sets.push_back(entry.set);
  }
  return sets;
}

ForcedInstructionSet::ForcedInstructionSet(InstructionSet set) : before_(in_force()) {
  use(set);
  in_force() = set;
}

ForcedInstructionSet::~ForcedInstructionSet() {
  use(before_);
  in_force() = before_;
}

}  // namespace edgewise::kernels
