// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/convert/tensor_layout.h"

namespace edgewise {

/// Returns the variables of a CTranslate2 TransformerSpec that hold the parameters of a model. Projections that have
/// one input are joined: query, key and value of self-attention; key and value of cross-attention.
std::vector<TensorLayout> ctranslate2_layout(const TransformerOptions& options);

}  // namespace edgewise
