// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edgewise/train/adam.h"
#include "edgewise/train/flat_parameters.h"
#include "edgewise/train/gradient_sum.h"

namespace edgewise {

/// The parameters of a model with the objects that train them in one process.
struct FlatTraining {
  explicit FlatTraining(const std::vector<NamedTensor>& named, const AdamOptions& options = {})
      : parameters(named, 1),
        pieces(parameters, single_process()),
        gradient_sum(parameters, pieces, GradientExchange::kFp32),
        adam(parameters, pieces, options) {}

  /// Returns a moment, such as "mean.x"; an undefined tensor if there is none.
  at::Tensor moment(const std::string& name) const {
    for (const auto& [flat, prefix] : {std::pair(adam.means(), "mean."), std::pair(adam.variances(), "variance.")}) {
      for (const NamedTensor& view : parameters.views(flat, prefix)) {
        if (view.name == name) return view.tensor;
      }
    }
    return {};
  }

  FlatParameters parameters;
  OwnedPieces pieces;
  GradientSum gradient_sum;
  Adam adam;
};

}  // namespace edgewise
