// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string_view>

#include "edgewise/options/transformer_options.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Returns `recorded` with layer -1, which means the last layer, replaced by its number. Throws Error, which begins
/// with the name `scorer`, for a layer or a head that the model does not have.
CrossHeads resolve_cross_heads(CrossHeads recorded, const TransformerOptions& options, std::string_view scorer);

/// Returns the attention weights of the recorded head, or their mean over all heads: [E, H] to fp32 [E].
at::Tensor select_recorded_head(const CrossHeads& recorded, const at::Tensor& weights_EH);

/// Returns a view of a contiguous fp32 tensor.
std::span<const float> float_span(const at::Tensor& tensor);

}  // namespace edgewise
