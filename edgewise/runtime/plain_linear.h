// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "edgewise/runtime/weight_matrix.h"

namespace edgewise {

/// The parameters of a linear layer in fp32, for memory of a GPU.
struct PlainLinear {
  std::vector<float> weight;  // [outputs, inputs]
  std::vector<float> bias;    // [outputs], or empty
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  PlainLinear() = default;
  PlainLinear(const WeightRows& rows, std::vector<float> bias_of_rows)
      : weight(rows.matrix->to_floats(rows.first, rows.count)),
        bias(std::move(bias_of_rows)),
        inputs(rows.matrix->columns()),
        outputs(rows.count) {}
};

}  // namespace edgewise
