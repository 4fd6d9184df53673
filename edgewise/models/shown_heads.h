// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string_view>

#include "edgewise/options/transformer_options.h"
#include "edgewise/search/cross_heads.h"

namespace edgewise {

/// The same heads, the layer counted from the start. Throws Error, in the name of `scorer`, for heads that the model
/// does not have.
CrossHeads heads_of_model(CrossHeads shown, const TransformerOptions& options, std::string_view scorer);

/// The attention weights of the shown head, or the mean of all: [E, H] to fp32 [E].
at::Tensor shown_weights(const CrossHeads& shown, const at::Tensor& weights_EH);

/// What lies in a contiguous fp32 tensor.
std::span<const float> floats_of(const at::Tensor& tensor);

}  // namespace edgewise
