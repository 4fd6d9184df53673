// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/token_embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

TokenEmbedding::PositionRows TokenEmbedding::find_rows(const EmbeddingTable& learned,
                                                       std::span<const std::int64_t> positions, const char* caller) {
  constexpr std::int64_t kMostKept = std::int64_t{1} << 14;
  if (positions.empty() || !has_vectors_) return {nullptr, nullptr};
  const std::int64_t last = *std::ranges::max_element(positions);
  if (!formula_) {
    check_learned_position(last, learned.num_rows, caller);
    return {learned.vectors.data(), positions.data()};
  }
  if (last < kMostKept) {
    reserve_positions(last);
    return {positions_.data(), positions.data()};
  }
  far_positions_.resize(positions.size() * static_cast<std::size_t>(size_));
  far_rows_.resize(positions.size());
  std::iota(far_rows_.begin(), far_rows_.end(), 0);
  for (const std::int64_t row : far_rows_) {
    formula_->write(positions[static_cast<std::size_t>(row)], far_positions_.data() + row * size_);
  }
  return {far_positions_.data(), far_rows_.data()};
}

void TokenEmbedding::write(const SideEmbeddings& side, std::span<const std::int64_t> tokens,
                           std::span<const std::int64_t> positions, const char* caller, float* out) {
  const auto [vectors, rows] = find_rows(side.positions, positions, caller);
  embed(side.tokens, tokens, vectors, rows, caller, out);
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
