// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/graph/relation.h"
#include "edgewise/ops/attend.h"
#include "tests/ops/tensors.h"

namespace edgewise {

inline AttentionOptions with_bias(AttentionOptions options, const at::Tensor& edge_bias) {
  options.edge_bias = edge_bias;
  return options;
}

/// Returns random query, key, value and edge bias for a relation. With `key_heads` 0, keys and values have `heads`
/// heads.
inline Tensors random_inputs(const Relation& relation, std::int64_t heads, std::int64_t head_size,
                             std::int64_t value_size, at::ScalarType type = at::kDouble, std::int64_t key_heads = 0) {
  if (key_heads == 0) key_heads = heads;
  return {normal({relation.num_destinations(), heads, head_size}, 1, type),
          normal({relation.num_sources(), key_heads, head_size}, 2, type),
          normal({relation.num_sources(), key_heads, value_size}, 3, type),
          normal({relation.num_edges(), heads}, 4, type == at::kBFloat16 ? at::kFloat : type)};
}

}  // namespace edgewise
