// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace edgewise::kernels {

/// The instruction sets for which kernels are compiled. The choice among them happens at run time.
enum class InstructionSet {
  kReference,  // the reference kernels, in plain loops
  kGeneric,    // the fast kernels, compiled without vector instructions
  kNeon,
  kAvx2,
  kAvx512,
};

std::string_view instruction_set_name(InstructionSet set);

/// Returns the instruction set in use: the best one of this machine, unless the environment variable EDGEWISE_KERNELS
/// names another; oneDNN then uses no instructions beyond that set. The first call throws Error for an unknown name and
/// for a set that this machine cannot run.
InstructionSet instruction_set();

/// Returns the set that EDGEWISE_KERNELS names, whether or not a ForcedInstructionSet exists. Throws Error as
/// instruction_set() does.
std::optional<InstructionSet> named_instruction_set();

/// Returns whether products by the bf16 instruction of AVX-512, vdpbf16ps, are faster than products of floats. They
/// have twice their speed on AMD, and half on Intel (Sapphire Rapids: 112 against 215 GFLOP/s per core).
bool has_fast_bf16_instructions();

/// Returns all sets that this machine can run, from kReference to the best one.
std::vector<InstructionSet> runnable_instruction_sets();

/// Forces the result of instruction_set() during the lifetime of this object, so that a test can run every set. Does
/// not change the instructions of oneDNN, which cannot be changed after its first use. Must not be created or destroyed
/// while kernels run.
class ForcedInstructionSet {
 public:
  explicit ForcedInstructionSet(InstructionSet set);
  ~ForcedInstructionSet();
  ForcedInstructionSet(const ForcedInstructionSet&) = delete;
  ForcedInstructionSet& operator=(const ForcedInstructionSet&) = delete;

 private:
  InstructionSet before_;
};

}  // namespace edgewise::kernels
