// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weights.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/base/utf8.h"
#include "edgewise/runtime/weight_packer.h"

namespace edgewise {
namespace {

// The number of tokens in a tile of the output projection. The weights of a tile, and its logits for a hundred states,
// fit into a core's L2 cache.
constexpr std::int64_t kTileSize = 1024;

constexpr std::int64_t kVectorSize = 16;  // node_attention needs rows of a multiple of 16 elements

/// Packs weights for matrix products of the CPU.
template <typename T>
struct PackedStore {
  using Type = T;

  bool is_bf16;

  static HeadLayout heads(const LayerOptions& options) { return make_head_layout(options); }

  /// Element k of a head has index head * head_size + k in the model, and k * padded_heads + head in packed weights,
  /// where `head` is that of keys.
  static std::int64_t key_place(std::int64_t i, const HeadLayout& heads) {
    return i % heads.head_size * heads.padded_heads + i / heads.head_size;
  }
  static std::int64_t query_place(std::int64_t i, const HeadLayout& heads) {
    const std::int64_t head = i / heads.head_size;
    const std::int64_t key_element = head / heads.group_size * heads.head_size + i % heads.head_size;
    return head % heads.group_size * heads.width() + key_place(key_element, heads);
  }

  static std::int64_t tile_size(std::int64_t vocabulary) { return std::min(kTileSize, vocabulary); }

  PackedLinear<T> linear(const WeightRows& weight, std::vector<float> bias) const {
    return {weight, std::move(bias), is_bf16};
  }
  PackedLinear<T> output_projection(const WeightRows& weight, std::vector<float> bias) const {
    return linear(weight, std::move(bias));
  }
  static std::vector<float> floats(std::vector<float> values) { return values; }
};

}  // namespace

HeadLayout make_head_layout(const LayerOptions& options) {
  const std::int64_t head_size = options.size / options.heads;
  const std::int64_t key_heads = options.num_key_value_heads();
  const auto heads = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(key_heads)));
  const std::int64_t step = std::max<std::int64_t>(1, kVectorSize / heads);
  return {options.heads, head_size, heads, (head_size + step - 1) / step * step, options.heads / key_heads};
}

namespace {

/// Throws Error if matrices have input multipliers, but their inputs are not the states of a post-norm model.
void check_input_multipliers(const TransformerOptions& options, const SafetensorsFile& file,
                             const std::string& file_name) {
  const bool has_states_as_inputs =
      options.kind == ModelKind::kTransformer && options.norm_placement == NormPlacement::kPost && !options.final_norm;
  if (has_states_as_inputs) return;
  const std::string where = fmt::format("read_parameters: {}", file_name);
  for (const TensorInfo& tensor : file.tensors()) {
    check(find_input_multiplier(file, tensor, where) == 0,
          "{} has an input multiplier of {}, needs model.kind=transformer, model.norm_placement=post and "
          "model.final_norm=false",
          where, quote(tensor.name));
  }
}

}  // namespace

template <typename T>
Weights<T> pack_weights(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                        const PackingOptions& packing) {
  if constexpr (kIsInt8<T>) check_input_multipliers(options, file, file_name);
  PackedStore<T> store = {packing.is_bf16};
  return WeightPacker(options, file, file_name, packing.stop, store).pack();
}

template Weights<float> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                     const PackingOptions&);
template Weights<BFloat16> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                        const PackingOptions&);
template Weights<std::int8_t> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                           const PackingOptions&);

}  // namespace edgewise
