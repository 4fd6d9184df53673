// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edgewise {

/// A matrix in 8 bits. The value of an element is the integer times the scale of its row.
struct QuantisedMatrix {
  std::vector<std::int8_t> values;  // [rows, columns]
  std::vector<float> scales;        // [rows]
};

/// Rounds a matrix, [rows, columns], as a product in int8 rounds its weights: the scale of a row makes its largest
/// magnitude 127.
QuantisedMatrix quantise_rows(std::span<const float> values, std::int64_t columns);

}  // namespace edgewise
