// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/row_positions.h"

#include <algorithm>

#include "edgewise/kernels/rotary/rotate.h"
#include "edgewise/positions/relative_positions.h"

namespace edgewise {
namespace {

// Rotations of positions from this one on are not kept, so that long texts need no more memory.
constexpr std::int64_t kMaxKnownRotations = 1 << 16;

/// Appends a number for each head, in the order of kernels::ScoreBias.
template <class Number>
void append_heads(const HeadLayout& heads, Number number, std::vector<float>& to) {
  const std::int64_t lanes = kernels::score_bias_lanes(heads.padded_heads);
  for (std::int64_t place = 0; place < heads.group_size; ++place) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t key_head = lane % heads.padded_heads;
      to.push_back(key_head < heads.num_key_heads() ? number(key_head * heads.group_size + place) : 0.0f);
    }
  }
}

}  // namespace

RowPositions::RowPositions(const TransformerOptions& options, const HeadLayout& heads,
                           std::span<const float> bias_table, bool is_causal)
    : heads_(heads) {
  if (options.positions == PositionKind::kRotary) {
    formula_ = PositionFormula::rotation(heads.head_size, options.rotary);
  }
  if (options.positions == PositionKind::kAlibi) {
    const std::vector<double> slopes = alibi_slopes(options.heads);
    append_heads(
        heads, [&](std::int64_t head) { return static_cast<float>(slopes[head]); }, slopes_);
    bias_ = kernels::ScoreBias{.slopes = slopes_.data()};
  }
  if (options.positions == PositionKind::kT5 && !bias_table.empty()) {
    for (const std::int64_t bucket : DistanceBuckets{options.t5_buckets, options.t5_distance, is_causal}.table()) {
      append_heads(
          heads, [&](std::int64_t head) { return bias_table[bucket * options.heads + head]; }, table_);
    }
    bias_ = kernels::ScoreBias{.table = table_.data(), .max_distance = options.t5_distance};
  }
}

void RowPositions::reserve_rotations(std::int64_t position) {
  const std::int64_t size = heads_.head_size;
  const std::int64_t count = std::ssize(known_rotations_) / size;
  if (position < count) return;
  const std::int64_t new_count = std::min(std::max(position + 1, 2 * count), kMaxKnownRotations);
  known_rotations_.resize(static_cast<std::size_t>(new_count * size));
  for (std::int64_t i = count; i < new_count; ++i) formula_->write(i, known_rotations_.data() + i * size);
}

void RowPositions::begin(std::span<const std::int64_t> positions) {
  positions_ = positions;
  if (!formula_) return;
  const std::int64_t size = heads_.head_size;
  rotations_.resize(positions.size() * static_cast<std::size_t>(size));
  float* to = rotations_.data();
  for (const std::int64_t position : positions) {
    if (position < kMaxKnownRotations) {
      reserve_rotations(position);
      std::copy_n(known_rotations_.data() + position * size, size, to);
    } else {
      formula_->write(position, to);
    }
    to += size;
  }
}

/// Turns `parts` heads of each of the first rows, the beginning of a row of `values`.
void RowPositions::rotate(float* values, std::int64_t rows, std::int64_t parts, std::int64_t stride) const {
  if (!formula_) return;
  kernels::rotate_lanes({.num_rows = rows,
                         .num_parts = parts,
                         .part_size = heads_.width(),
                         .stride = stride,
                         .num_heads = heads_.padded_heads,
                         .head_size = heads_.head_size,
                         .table = rotations_.data(),
                         .values = values});
}

}  // namespace edgewise
