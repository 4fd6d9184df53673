// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {

/// Calls body with each instruction set in force that vectorised kernels are compiled for and this machine runs.
template <class Body>
void for_instruction_sets(Body body) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    if (set == InstructionSet::kReference) continue;
    SCOPED_TRACE(std::string(instruction_set_name(set)));
    const ForcedInstructionSet forced(set);
    body();
  }
}

}  // namespace edgewise::kernels
