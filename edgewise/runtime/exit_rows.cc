// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/exit_rows.h"

#include <numeric>

#include "edgewise/graph/gather.h"

namespace edgewise {

void ExitRows::begin(std::span<const std::int64_t> positions, std::span<const kernels::SourceRange> inputs) {
  exit_ = 0;
  num_active_ = std::ssize(positions);
  order_.resize(positions.size());
  std::iota(order_.begin(), order_.end(), 0);
  positions_.assign(positions.begin(), positions.end());
  layers_.assign(positions.size(), options_.decoder_layers);
  thresholds_.clear();
  for (std::size_t row = 0; row < positions.size(); ++row) {
    thresholds_.push_back(options_.exits.threshold_at(positions[row], inputs[row].count));
  }
}

bool ExitRows::end_layer(std::size_t layer, const float* states) {
  const std::vector<std::int64_t>& exit_layers = options_.exits.layers;
  const auto layers = static_cast<std::int64_t>(layer) + 1;
  if (exit_ == exit_layers.size() || exit_layers[exit_] != layers) return false;
  const std::vector<double>& probabilities = probabilities_of_(units_[exit_++], num_active_, options_.size, states);
  moved_.clear();
  std::vector<NodeIndex> halting;
  for (std::int64_t place = 0; place < num_active_; ++place) {
    const auto row = static_cast<std::size_t>(order_[static_cast<std::size_t>(place)]);
    const bool halts = probabilities[static_cast<std::size_t>(place)] >= thresholds_[row];
    (halts ? halting : moved_).push_back(static_cast<NodeIndex>(place));
    if (halts) layers_[row] = layers;
  }
  if (halting.empty()) return false;
  const auto still_active = std::ssize(moved_);
  moved_.insert(moved_.end(), halting.begin(), halting.end());
  for (std::int64_t place = num_active_; place < num_rows(); ++place) moved_.push_back(static_cast<NodeIndex>(place));
  num_active_ = still_active;
  order_ = gather<NodeIndex>(order_, moved_);
  positions_ = gather<std::int64_t>(positions_, moved_);
  return true;
}

std::vector<NodeIndex> ExitRows::places() const {
  std::vector<NodeIndex> places(order_.size());
  for (std::size_t place = 0; place < order_.size(); ++place) {
    places[static_cast<std::size_t>(order_[place])] = static_cast<NodeIndex>(place);
  }
  return places;
}

}  // namespace edgewise
