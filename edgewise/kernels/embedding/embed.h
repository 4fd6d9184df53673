// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/kernels/dropout/dropout.h"

// Words and positions to vectors, on raw memory, for float and double. Shapes: T = tokens, C = words, P = positions,
// M = size of a vector.

namespace edgewise::kernels {

/// What becomes of the words of a sequence: each is dropped, or grows, as a whole. Token t has word t % 4 of Philox
/// block t / 4.
template <typename T>
class WordScales {
 public:
  WordScales(T scale, const Dropout& dropout) : scale_(scale), dropout_(dropout), rule_(dropout) {}

  T of(std::int64_t token) const {
    if (rule_.drops_nothing()) return scale_;
    const auto block = philox(dropout_.seed, dropout_.stream, static_cast<std::uint64_t>(token / 4));
    return scale_ * rule_.factor(block[static_cast<std::size_t>(token % 4)]);
  }

 private:
  T scale_;
  Dropout dropout_;
  DropoutRule<T> rule_;
};

/// out = dropout(word_dropout(scale * weight[token]) + table[position])
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
  Dropout word_dropout = {};
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
  Dropout word_dropout = {};
};

template <typename T>
void embed_forward(const EmbedForward<T>& p);

/// Adds the tokens of a word in their order, whatever the number of threads.
template <typename T>
void embed_backward(const EmbedBackward<T>& p);

}  // namespace edgewise::kernels
