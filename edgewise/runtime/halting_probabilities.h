// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "edgewise/runtime/packed_linear.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Computes the halting probabilities of rows; nn/halting.h has the formula.
class HaltingProbabilities {
 public:
  /// Returns those of the rows of `states`, [rows, size], valid until the next call.
  const std::vector<double>& operator()(const HaltingParameters& unit, std::int64_t rows, std::int64_t size,
                                        const float* states) {
    float* normed = normed_buffer_.allocate(rows, size);
    std::copy_n(states, rows * size, normed);
    norm_and_round(rows, size, normed, unit.norm, /*norms_values=*/false, Activations<float>{normed});
    probabilities_.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* state = normed + row * size;
      const float score = std::inner_product(state, state + size, unit.weight.begin(), unit.bias);
      probabilities_.push_back(1.0f / (1.0f + std::exp(-score)));
    }
    return probabilities_;
  }

 private:
  FloatBuffer normed_buffer_;
  std::vector<double> probabilities_;  // [rows]
};

}  // namespace edgewise
