// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {

/// Calls body() once for each instruction set that this machine runs, except kReference, with this set in use.
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
