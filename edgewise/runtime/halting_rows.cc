// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/halting_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace edgewise {

void HaltingRows::begin(std::span<const std::int64_t> positions) {
  const std::size_t rows = positions.size();
  positions_.assign(positions.begin(), positions.end());
  active_.resize(rows);
  std::iota(active_.begin(), active_.end(), 0);
  ponder_steps_.assign(rows, 0);
  probability_sums_.assign(rows, 0.0);
  remainders_.assign(rows, 1.0f);
  weighted_states_.assign(rows * static_cast<std::size_t>(options_.size), 0.0f);
  step_ = 0;
}

void HaltingRows::add_coordinate_embeddings(TokenEmbedding& embedding, float* states) const {
  float* state = states;
  for (const NodeIndex row : active_) {
    embedding.reserve_positions(std::max(step_, position(row)));
    const float* position_vector = embedding.position_vector(position(row));
    const float* step_vector = embedding.position_vector(step_);
    for (std::int64_t m = 0; m < options_.size; ++m) state[m] += position_vector[m] + step_vector[m];
    state += options_.size;
  }
}

void HaltingRows::compute_probabilities(const float* states) {
  const std::int64_t rows = std::ssize(active_);
  float* normed = normed_buffer_.allocate(rows, options_.size);
  std::copy_n(states, rows * options_.size, normed);
  norm_and_round(rows, options_.size, normed, parameters_.norm, /*norms_values=*/false, Activations<float>{normed});
  probabilities_.clear();
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* state = normed + row * options_.size;
    const float score = std::inner_product(state, state + options_.size, parameters_.weight.begin(), parameters_.bias);
    probabilities_.push_back(1.0f / (1.0f + std::exp(-score)));
  }
}

void HaltingRows::end_step(const float* states) {
  ++step_;
  continuing_.clear();
  halting_.clear();
  if (is_adaptive_) compute_probabilities(states);
  std::vector<NodeIndex> still_active;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto row = static_cast<std::size_t>(active_[i]);
    const double probability = is_adaptive_ ? probabilities_[i] : 0.0;
    const double sum = probability_sums_[row] + probability;
    const bool halts = step_ == max_steps_ || sum >= 1.0 - options_.universal.epsilon;
    const float weight = halts ? remainders_[row] : static_cast<float>(probability);
    add_weighted_state(active_[i], weight, states + static_cast<std::int64_t>(i) * options_.size);
    if (halts) {
      halting_.push_back(static_cast<NodeIndex>(i));
      ponder_steps_[row] = step_;
    } else {
      continuing_.push_back(static_cast<NodeIndex>(i));
      still_active.push_back(active_[i]);
      probability_sums_[row] = sum;
      remainders_[row] -= static_cast<float>(probability);
    }
  }
  active_ = std::move(still_active);
}

void HaltingRows::add_weighted_state(NodeIndex row, float weight, const float* state) {
  if (weight == 0.0f) return;
  float* sum = weighted_states_.data() + row * options_.size;
  for (std::int64_t m = 0; m < options_.size; ++m) sum[m] += weight * state[m];
}

}  // namespace edgewise
