// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/token_embedding.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/kernels/embedding/embed.h"

namespace edgewise {

void check_tokens(std::span<const std::int64_t> tokens, std::int64_t num_rows, const char* caller) {
  for (const std::int64_t token : tokens) {
    check(token >= 0 && token < num_rows, "{}: token is {}, needs a number in [0, {})", caller, token, num_rows);
  }
}

float embedding_scale(const TransformerOptions& options) {
  return options.scale_embedding ? std::sqrt(static_cast<float>(options.size)) : 1.0f;
}

TokenEmbedding::TokenEmbedding(const TransformerOptions& options)
    : size_(options.size), scale_(embedding_scale(options)), has_vectors_(has_position_vectors(options.positions)) {
  if (has_formula(options.positions)) formula_.emplace(options.size, options.positions);
}

void TokenEmbedding::reserve_positions(std::int64_t position) {
  const std::int64_t count = std::ssize(positions_) / size_;
  if (position < count) return;
  const std::int64_t new_count = std::max(position + 1, 2 * count);
  positions_.resize(static_cast<std::size_t>(new_count * size_));
  for (std::int64_t i = count; i < new_count; ++i) formula_->write(i, positions_.data() + i * size_);
}

const float* TokenEmbedding::find_vectors(const EmbeddingTable& learned, std::span<const std::int64_t> positions,
                                          const char* caller) {
  if (positions.empty() || !has_vectors_) return nullptr;
  const std::int64_t last = *std::ranges::max_element(positions);
  if (formula_) {
    reserve_positions(last);
    return positions_.data();
  }
  check_learned_position(last, learned.num_rows, caller);
  return learned.vectors.data();
}

void TokenEmbedding::write(const SideEmbeddings& side, std::span<const std::int64_t> tokens,
                           std::span<const std::int64_t> positions, const char* caller, float* out) {
  embed(side.tokens, tokens, find_vectors(side.positions, positions, caller), positions.data(), caller, out);
}

void TokenEmbedding::write(const SideEmbeddings& side, std::span<const std::int64_t> tokens, const char* caller,
                           float* out) const {
  embed(side.tokens, tokens, nullptr, nullptr, caller, out);
}

void TokenEmbedding::embed(const EmbeddingTable& table, std::span<const std::int64_t> tokens, const float* vectors,
                           const std::int64_t* positions, const char* caller, float* out) const {
  check_tokens(tokens, table.num_rows, caller);
  kernels::embed_forward(kernels::EmbedForward<float>{.weight = table.vectors.data(),
                                                      .tokens = tokens.data(),
                                                      .position_table = vectors,
                                                      .positions = positions,
                                                      .out = out,
                                                      .num_tokens = std::ssize(tokens),
                                                      .size = size_,
                                                      .scale = scale_,
                                                      .dropout = {}});
}

}  // namespace edgewise
