// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// Rotary position embeddings (Su et al. 2021): the pairs (x[k], x[k + K / 2]) of a head are points of planes, which
// turn by the position times a frequency of k. Shapes: N = nodes, H = heads, K = head size, which is even, P =
// positions.
namespace edgewise::kernels {

/// The arguments of out = x turned by the angles of table rows. T is float, double or BFloat16; `out` may be `x`.
template <typename T>
struct Rotate {
  std::int64_t num_nodes;
  std::int64_t num_heads;
  std::int64_t head_size;
  const AccumulatorType<T>* table;  // [P, K]: the sines of the angles of k = 0, 1, ..., K / 2 - 1, then their cosines
  const std::int64_t* rows;         // [N], each node's row of the table
  const T* x;                       // [N, H, K]
  T* out;                           // [N, H, K]
  bool is_inverse = false;          // whether angles are negative, as for gradients
};

template <typename T>
void rotate(const Rotate<T>& p);

/// The arguments of a rotation in place in the layout of node_attention(): element (k, h) is at k * H + h. R = rows.
struct RotateLanes {
  std::int64_t num_rows;
  std::int64_t num_parts;  // heads are in this many parts [K, H], such as those of the query and the key
  std::int64_t part_size;  // elements from a part to the next one
  std::int64_t stride;     // elements from a row's first part to that of the next row
  std::int64_t num_heads;  // H
  std::int64_t head_size;  // K
  const float* table;      // [R, K], the sines and cosines of each row, as in Rotate
  float* values;
};

void rotate_lanes(const RotateLanes& p);

namespace reference {

template <typename T>
void rotate(const Rotate<T>& p);
void rotate_lanes(const RotateLanes& p);

}  // namespace reference
}  // namespace edgewise::kernels
