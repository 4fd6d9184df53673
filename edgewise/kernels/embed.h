// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/dropout.h"

// Words and positions to vectors, on raw memory, for float and double. Shapes: T = tokens, C = words, P = positions,
// M = size of a vector.

namespace edgewise::kernels {

/// out = dropout(scale * weight[token] + table[position])
template <typename T>
struct EmbedForward {
  const T* weight;                // [C, M]
  const std::int64_t* tokens;     // [T], rows of the weight
  const T* table;                 // [P, M], or null: then there are no positions either
  const std::int64_t* positions;  // [T], rows of the table
  T* out;                         // [T, M]
  std::int64_t num_tokens;
  std::int64_t size;  // M
  T scale;
  Dropout dropout;
};

template <typename T>
struct EmbedBackward {
  const std::int64_t* tokens;  // [T]
  const T* grad_out;           // [T, M]
  T* grad_weight;              // [C, M], to which the gradient is added
  std::int64_t num_tokens;
  std::int64_t size;
  T scale;
  Dropout dropout;
};

template <typename T>
void embed_forward(const EmbedForward<T>& p);

/// Adds the tokens of a word in their order, whatever the number of threads.
template <typename T>
void embed_backward(const EmbedBackward<T>& p);

}  // namespace edgewise::kernels
