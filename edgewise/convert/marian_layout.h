// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/convert/tensor_layout.h"

namespace edgewise {

/// Returns the arrays of Marian's npz file that hold the parameters of a model.
std::vector<TensorLayout> marian_layout(const TransformerOptions& options);

}  // namespace edgewise
