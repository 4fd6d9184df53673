// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/embedding.h"

#include <algorithm>

#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/runtime/token_embedding.h"

namespace edgewise {

GpuEmbedding::GpuEmbedding(const TransformerOptions& options) : size_(options.size), scale_(embedding_scale(options)) {
  if (has_formula(options.positions)) formula_.emplace(options.size, options.positions);
}

void GpuEmbedding::reserve_positions(std::int64_t position, const GpuStream& stream) {
  const std::int64_t count = std::ssize(positions_) / size_;
  if (position < count) return;
  const std::int64_t new_count = std::max(position + 1, 2 * count);
  positions_.resize(static_cast<std::size_t>(new_count * size_));
  for (std::int64_t i = count; i < new_count; ++i) formula_->write(i, positions_.data() + i * size_);
  copy_.begin(std::span<const float>(positions_), positions_on_gpu_, stream);
}

GpuEmbedding::Rows GpuEmbedding::add(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                                     const GpuSide& side, const char* caller, Upload& upload, const GpuStream& stream) {
  check_tokens(tokens, side.tokens.num_rows, caller);
  if (!positions.empty()) {
    const std::int64_t last = *std::ranges::max_element(positions);
    if (formula_) {
      reserve_positions(last, stream);
    } else {
      check_learned_position(last, side.positions.num_rows, caller);
    }
  }
  return {upload.add(tokens), upload.add(positions), std::ssize(tokens)};
}

void GpuEmbedding::write(const GpuSide& side, const Rows& rows, Upload& upload, const GpuStream& stream,
                         float* out) const {
  kernels::embed_forward(kernels::EmbedForward<float>{.weight = side.tokens.vectors.data(),
                                                      .tokens = upload.at(rows.tokens),
                                                      .position_table = formula_ ? positions_on_gpu_.data()
                                                                                 : side.positions.vectors.data(),
                                                      .positions = upload.at(rows.positions),
                                                      .out = out,
                                                      .num_tokens = rows.count,
                                                      .size = size_,
                                                      .scale = scale_,
                                                      .dropout = {}},
                         stream);
}

}  // namespace edgewise
