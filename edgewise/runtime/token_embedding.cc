// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/token_embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/kernels/embedding/embed.h"

namespace edgewise {
namespace {

// Vectors of positions from this one on are not kept.
constexpr std::int64_t kMostKeptPositions = std::int64_t{1} << 14;

}  // namespace

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
  if (has_formula(options.positions)) formula_ = PositionFormula::of_model(options);
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
  if (positions.empty() || !has_vectors_) return {nullptr, nullptr};
  const std::int64_t last = *std::ranges::max_element(positions);
  if (!formula_) {
    check_learned_position(last, learned.num_rows, caller);
    return {learned.vectors.data(), positions.data()};
  }
  if (last >= kMostKeptPositions) return write_rows(positions, positions);
  reserve_positions(last);
  return {positions_.data(), positions.data()};
}

/// Writes a vector for each token to own_positions_.
TokenEmbedding::PositionRows TokenEmbedding::write_rows(std::span<const std::int64_t> positions,
                                                        std::span<const std::int64_t> second_halves) {
  own_positions_.resize(positions.size() * static_cast<std::size_t>(size_));
  own_rows_.resize(positions.size());
  std::iota(own_rows_.begin(), own_rows_.end(), 0);
  std::vector<float> computed(static_cast<std::size_t>(size_));
  const auto vector_of = [&](std::int64_t position) -> const float* {
    if (position < kMostKeptPositions) {
      reserve_positions(position);
      return position_vector(position);
    }
    formula_->write(position, computed.data());
    return computed.data();
  };
  const std::int64_t half = size_ / 2;
  float* to = own_positions_.data();
  for (std::size_t i = 0; i < positions.size(); ++i, to += size_) {
    std::copy_n(vector_of(positions[i]), size_, to);
    if (second_halves[i] != positions[i]) std::copy_n(vector_of(second_halves[i]) + half, half, to + half);
  }
  return {own_positions_.data(), own_rows_.data()};
}

void TokenEmbedding::write(const SideEmbeddings& side, std::span<const std::int64_t> tokens,
                           std::span<const std::int64_t> positions, const char* caller, float* out,
                           std::span<const std::int64_t> mirrored) {
  const auto [vectors, rows] =
      mirrored.empty() ? find_rows(side.positions, positions, caller) : write_rows(positions, mirrored);
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
