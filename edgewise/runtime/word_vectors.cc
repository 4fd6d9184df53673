// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/word_vectors.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/options/position_formula.h"

namespace edgewise {

WordVectors::WordVectors(const TransformerOptions& options)
    : size_(options.size),
      scale_(options.scale_embedding ? std::sqrt(static_cast<float>(options.size)) : 1.0f),
      frequencies_(position_frequencies(options.size, options.positions)) {}

void WordVectors::make_room_for(std::int64_t position) {
  const std::int64_t known = std::ssize(positions_) / size_;
  if (position < known) return;
  const std::int64_t wanted = std::max(position + 1, 2 * known);
  positions_.resize(static_cast<std::size_t>(wanted * size_));
  for (std::int64_t i = known; i < wanted; ++i) write_position(i, frequencies_, positions_.data() + i * size_);
}

void WordVectors::write(const WordTable& table, std::span<const std::int64_t> tokens,
                        std::span<const std::int64_t> positions, const char* caller, float* to) {
  if (!positions.empty()) make_room_for(*std::ranges::max_element(positions));
  write(table, tokens, positions_.data(), positions.data(), caller, to);
}

void WordVectors::write(const WordTable& table, std::span<const std::int64_t> tokens, const char* caller, float* to) {
  write(table, tokens, nullptr, nullptr, caller, to);
}

const float* WordVectors::position(std::int64_t position) {
  make_room_for(position);
  return positions_.data() + position * size_;
}

void WordVectors::write(const WordTable& table, std::span<const std::int64_t> tokens, const float* vectors,
                        const std::int64_t* positions, const char* caller, float* to) const {
  for (const std::int64_t token : tokens) {
    check(token >= 0 && token < table.words, "{}: token is {}, needs a number in [0, {})", caller, token, table.words);
  }
  kernels::embed_forward(kernels::EmbedForward<float>{.weight = table.vectors.data(),
                                                      .tokens = tokens.data(),
                                                      .table = vectors,
                                                      .positions = positions,
                                                      .out = to,
                                                      .num_tokens = std::ssize(tokens),
                                                      .size = size_,
                                                      .scale = scale_,
                                                      .dropout = {}});
}

}  // namespace edgewise
