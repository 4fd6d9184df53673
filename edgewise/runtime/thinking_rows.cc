// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/thinking_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace edgewise {

void ThinkingRows::begin(std::span<const std::int64_t> positions) {
  const std::size_t rows = positions.size();
  positions_.assign(positions.begin(), positions.end());
  active_.resize(rows);
  std::iota(active_.begin(), active_.end(), 0);
  steps_.assign(rows, 0);
  sums_.assign(rows, 0.0);
  remaining_.assign(rows, 1.0f);
  weighted_.assign(rows * static_cast<std::size_t>(options_.size), 0.0f);
  step_ = 0;
}

void ThinkingRows::add_signal(WordVectors& words, NodeIndex row, std::int64_t step, float* state) const {
  // Either call may move the table, so that both have room before one is read.
  words.position(std::max(step, positions_[static_cast<std::size_t>(row)]));
  const float* of_position = words.position(positions_[static_cast<std::size_t>(row)]);
  const float* of_step = words.position(step);
  for (std::int64_t m = 0; m < options_.size; ++m) state[m] += of_position[m] + of_step[m];
}

void ThinkingRows::add_signals(WordVectors& words, float* states) const {
  for (std::size_t i = 0; i < active_.size(); ++i) {
    add_signal(words, active_[i], step_, states + static_cast<std::int64_t>(i) * options_.size);
  }
}

void ThinkingRows::probabilities(const float* states) {
  const std::int64_t rows = std::ssize(active_);
  float* normed = normed_room_.of(rows, options_.size);
  std::copy_n(states, rows * options_.size, normed);
  norm_and_round(rows, options_.size, normed, halting_.norm, /*norms_values=*/false, Activations<float>{normed});
  probabilities_.clear();
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* state = normed + row * options_.size;
    const float score = std::inner_product(state, state + options_.size, halting_.weight.begin(), halting_.bias);
    probabilities_.push_back(1.0f / (1.0f + std::exp(-score)));
  }
}

void ThinkingRows::end_step(const float* states) {
  staying_.clear();
  leaving_.clear();
  const bool is_last = ++step_ == most_steps_;
  if (adapts_) probabilities(states);
  std::vector<NodeIndex> still_active;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto row = static_cast<std::size_t>(active_[i]);
    const double sum = adapts_ ? sums_[row] + probabilities_[i] : 0.0;
    const bool leaves = is_last || (adapts_ && sum >= 1.0 - options_.universal.epsilon);
    const float weight = leaves ? remaining_[row] : adapts_ ? static_cast<float>(probabilities_[i]) : 0.0f;
    if (weight != 0.0f) {
      const float* state = states + static_cast<std::int64_t>(i) * options_.size;
      float* to = weighted_.data() + active_[i] * options_.size;
      for (std::int64_t m = 0; m < options_.size; ++m) to[m] += weight * state[m];
    }
    (leaves ? leaving_ : staying_).push_back(static_cast<NodeIndex>(i));
    if (leaves) {
      steps_[row] = step_;
      continue;
    }
    still_active.push_back(active_[i]);
    sums_[row] = sum;
    if (adapts_) remaining_[row] -= static_cast<float>(probabilities_[i]);
  }
  active_ = std::move(still_active);
}

void ThinkingRows::write(float* states) const { std::ranges::copy(weighted_, states); }

}  // namespace edgewise
