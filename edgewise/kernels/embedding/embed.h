// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"

// Token embeddings plus positions, on raw memory, for float and double. Shapes: T = tokens, C = vocabulary,
// P = positions, M = size of an embedding.
namespace edgewise::kernels {

/// A token whose embedding is zero, and which has no gradient.
inline constexpr std::int64_t kNoToken = std::numeric_limits<std::int64_t>::min();

/// The tokens of a batch, grouped by their rows of a table; pointers into TokenGroups or into a copy of it on a device.
struct TokenGroupsView {
  const std::int64_t* rows;    // [G], the row of each group, or kNoToken
  const std::int32_t* begin;   // [G + 1], the first element of each group in `tokens`
  const std::int32_t* tokens;  // [T], the numbers of the tokens, ascending in each group
  std::int64_t num_groups;     // G
};

struct TokenGroups {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> tokens;

  TokenGroupsView view() const { return {rows.data(), begin.data(), tokens.data(), std::ssize(rows)}; }
};

/// Groups tokens 0, 1, … by their rows of a table: row_of_token[t] is the row of token t. Takes O(T log T) time.
inline TokenGroups group_tokens(std::span<const std::int64_t> row_of_token) {
  TokenGroups groups{.rows = {}, .begin = {}, .tokens = std::vector<std::int32_t>(row_of_token.size())};
  const auto row = [&](std::int32_t token) { return row_of_token[static_cast<std::size_t>(token)]; };
  std::iota(groups.tokens.begin(), groups.tokens.end(), 0);
  std::stable_sort(groups.tokens.begin(), groups.tokens.end(),
                   [&](std::int32_t a, std::int32_t b) { return row(a) < row(b); });
  for (std::size_t i = 0; i < groups.tokens.size(); ++i) {
    if (i > 0 && row(groups.tokens[i]) == groups.rows.back()) continue;
    groups.rows.push_back(row(groups.tokens[i]));
    groups.begin.push_back(static_cast<std::int32_t>(i));
  }
  groups.begin.push_back(static_cast<std::int32_t>(groups.tokens.size()));
  return groups;
}

/// Factors of the embeddings of tokens: `scale` times the factor of word dropout, which drops whole embeddings.
/// The random bits of token t are word t % 4 of Philox block t / 4.
template <typename T>
class TokenScales {
 public:
  TokenScales(T scale, const Dropout& dropout) : scale_(scale), dropout_(dropout), rule_(dropout) {}

  T scale_of(std::int64_t token) const {
    if (rule_.is_identity()) return scale_;
    const auto block = philox(dropout_.seed, dropout_.stream, static_cast<std::uint64_t>(token / 4));
    return scale_ * rule_.factor(block[static_cast<std::size_t>(token % 4)]);
  }

 private:
  T scale_;
  Dropout dropout_;
  DropoutRule<T> rule_;
};

/// The arguments of out = dropout(word_dropout(scale * weight[token]) + position_table[position]).
template <typename T>
struct EmbedForward {
  const T* weight;                // [C, M]
  const std::int64_t* tokens;     // [T], rows of the weight, or kNoToken
  const T* position_table;        // [P, M]; or null without positions
  const std::int64_t* positions;  // [T], rows of position_table
  T* out;                         // [T, M]
  std::int64_t num_tokens;
  std::int64_t size;  // M
  T scale;
  Dropout dropout;
  Dropout word_dropout = {};
};

template <typename T>
struct EmbedBackward {
  const std::int64_t* tokens;  // [T], as in the forward pass
  const T* grad_out;           // [T, M]
  T* grad_weight;              // [C, M], the gradient is added to it
  std::int64_t num_tokens;
  std::int64_t size;
  T scale;
  Dropout dropout;
  Dropout word_dropout = {};
};

template <typename T>
void embed_forward(const EmbedForward<T>& p);

/// Adds the gradients of equal tokens in the order of `tokens` on any number of threads.
template <typename T>
void embed_backward(const EmbedBackward<T>& p);

/// Begins embed_forward() on a GPU in `stream`, for T = float. All pointers are to memory of the device, and those to
/// matrices are multiples of 16 bytes. The results have the bits of the CPU. A size that is a multiple of 4 is fastest.
template <typename T>
void embed_forward(const EmbedForward<T>& p, device::Stream stream);

/// Begins embed_backward() in `stream`, under the conditions of embed_forward(), for tokens that group_tokens() has
/// grouped; p.tokens is not read. A warp adds the gradients of equal tokens one after the other, so that the time is at
/// least in proportion to the largest group.
template <typename T>
void embed_backward(const EmbedBackward<T>& p, const TokenGroupsView& groups, device::Stream stream);

namespace reference {
template <typename T>
void embed_forward(const EmbedForward<T>& p);
template <typename T>
void embed_backward(const EmbedBackward<T>& p);
}  // namespace reference

}  // namespace edgewise::kernels
