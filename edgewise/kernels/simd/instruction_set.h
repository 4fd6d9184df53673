// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace edgewise::kernels {

/// What kernels are compiled for; which one runs is decided at run time.
enum class InstructionSet {
  kReference,  // plain loops: the definition
  kGeneric,    // the fast algorithms without vector instructions
  kNeon,
  kAvx2,
  kAvx512,
};

std::string_view instruction_set_name(InstructionSet set);

/// The best one of this machine, or the one that the environment variable EDGEWISE_KERNELS names. Throws Error, the
/// first time, for a name that is none or that this machine cannot run.
InstructionSet instruction_set();

/// All that this machine can run, the reference first.
std::vector<InstructionSet> runnable_instruction_sets();

/// Makes instruction_set() say `set` while it lives, so that a test can sweep all of them. Not while kernels run.
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
