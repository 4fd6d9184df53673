// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// The weights of the losses at exits. They sum to 1.
enum class ExitWeights {
  kEqual,   // as in the Depth-Adaptive Transformer (Elbayad et al. 2020, section 3.1)
  kRising,  // in proportion to the number of layers (Schuster et al. 2022, equation 6)
};

inline constexpr auto enum_names(ExitWeights) { return names_in_order<ExitWeights>("equal", "rising"); }

/// Options of a decoder with exits: layers after which the output projection can follow, as after the last layer.
struct ExitOptions {
  std::vector<std::int64_t> layers;
  ExitWeights weights = ExitWeights::kEqual;

  bool are_on() const { return !layers.empty(); }

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
  }
};

}  // namespace edgewise
