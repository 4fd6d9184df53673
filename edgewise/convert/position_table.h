// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Returns whether a tensor [positions, size] of F32 has the vectors of a formula of position vectors, which
/// positions/position_formula.h defines, bit for bit.
bool is_position_table(const TensorInfo& table, std::int64_t size, PositionKind kind);

}  // namespace edgewise
