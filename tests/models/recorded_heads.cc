// SPDX-License-Identifier: Apache-2.0
#include "tests/models/recorded_heads.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Returns count - 1 for index -1, else the index. Throws Error for an index outside of -1 to count - 1.
std::int64_t resolve_index(std::int64_t index, std::int64_t count, std::string_view scorer, std::string_view what) {
  check(index >= -1 && index < count, "{}: the {} whose attention is shown is {}, the model has {}, counted from 0",
        scorer, what, index, count);
  return index < 0 ? count - 1 : index;
}

}  // namespace

CrossHeads resolve_cross_heads(CrossHeads recorded, const TransformerOptions& options, std::string_view scorer) {
  const std::int64_t layers = options.kind == ModelKind::kUniversal ? 1 : options.decoder_layers;
  recorded.layer = resolve_index(recorded.layer, layers, scorer, "layer");
  resolve_index(recorded.head, options.heads, scorer, "head");
  return recorded;
}

at::Tensor select_recorded_head(const CrossHeads& recorded, const at::Tensor& weights_EH) {
  const at::Tensor weights_E = recorded.head < 0 ? weights_EH.mean(1) : weights_EH.select(1, recorded.head);
  return weights_E.to(at::kFloat).contiguous();
}

std::span<const float> float_span(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace edgewise
