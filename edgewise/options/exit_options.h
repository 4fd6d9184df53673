// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// The weights of the losses at exits. They sum to 1.
enum class ExitWeights {
  kEqual,   // as in the Depth-Adaptive Transformer (Elbayad et al. 2020, section 3.1)
  kRising,  // in proportion to the number of layers (CALM; Schuster et al. 2022)
};

inline constexpr auto enum_names(ExitWeights) { return names_in_order<ExitWeights>("equal", "rising"); }

/// Options of a decoder with exits: layers after which the output projection can follow, as after the last layer. A
/// token whose halting probability at an exit is high enough halts there: later layers compute only its keys and
/// values, from its state at the exit, for the tokens after it.
struct ExitOptions {
  std::vector<std::int64_t> layers;
  ExitWeights weights = ExitWeights::kEqual;
  double threshold = 1.0;
  double fall = 4.0;

  bool are_on() const { return !layers.empty(); }
  bool can_halt() const { return are_on() && threshold < 1; }

  /// Returns the halting probability from which on the token at a position of the output halts at an exit. The formula
  /// is that of CALM (Schuster et al. 2022), whose N is the length of the longest output: early tokens, on which more
  /// tokens depend, need more.
  double threshold_at(std::int64_t position, std::int64_t input_tokens) const {
    const double progress = static_cast<double>(position) / static_cast<double>(input_tokens);
    return std::clamp(0.9 * threshold + 0.1 * std::exp(-fall * progress), 0.0, 1.0);
  }

  /// Returns the layers, from 1, whose states the output projection reads in training: the exits and the last layer.
  std::vector<std::int64_t> layers_and(std::int64_t last) const {
    std::vector<std::int64_t> all = layers;
    all.push_back(last);
    return all;
  }

  /// Returns the weights of the losses after `all_layers`.
  std::vector<double> loss_weights(const std::vector<std::int64_t>& all_layers) const {
    double sum = 0;
    std::vector<double> shares;
    for (const std::int64_t layer : all_layers) {
      shares.push_back(weights == ExitWeights::kEqual ? 1.0 : static_cast<double>(layer));
      sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    return shares;
  }

  static void list_fields(auto& self, auto&& field) {
    field("layers", self.layers,
          "decoder layers, from 1 and without the last one, after which the output projection can follow: training "
          "minimises the mean of the losses there and after the last layer, so that one model has several depths; "
          "empty: none",
          at_least(1).at_most(999));
    field("weights", self.weights,
          "weights of the losses at exits: equal, or rising in proportion to the number of layers");
    field("threshold", self.threshold,
          "in translating, the token at position t of an output halts at an exit whose halting probability is at least "
          "0.9 threshold + 0.1 exp(-fall t / tokens of the input); 1: no token halts",
          at_least(0).at_most(1));
    field("fall", self.fall, "how fast the threshold of halting falls along an output; 0: it does not fall",
          at_least(0).at_most(1000));
  }
};

}  // namespace edgewise
