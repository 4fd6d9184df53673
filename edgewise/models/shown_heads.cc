// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/shown_heads.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// An index from the end, as Python has it, to one from the start.
std::int64_t from_start(std::int64_t index, std::int64_t count, std::string_view scorer, std::string_view what) {
  check(index >= -1 && index < count, "{}: the {} whose attention is shown is {}, the model has {}, counted from 0",
        scorer, what, index, count);
  return index < 0 ? count - 1 : index;
}

}  // namespace

CrossHeads heads_of_model(CrossHeads shown, const TransformerOptions& options, std::string_view scorer) {
  shown.layer = from_start(shown.layer, options.decoder_layers, scorer, "layer");
  from_start(shown.head, options.heads, scorer, "head");
  return shown;
}

at::Tensor shown_weights(const CrossHeads& shown, const at::Tensor& weights_EH) {
  const at::Tensor weights_E = shown.head < 0 ? weights_EH.mean(1) : weights_EH.select(1, shown.head);
  return weights_E.to(at::kFloat).contiguous();
}

std::span<const float> floats_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace edgewise
