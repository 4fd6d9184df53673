// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// The allowed error of an element: `rounding`, relative to the element, plus `sums`, relative to the root mean square
/// of all elements.
struct Tolerance {
  double rounding;  // of the element to its type
  double sums;      // of the sums of numbers of about 1 that the elements are computed from
};

/// The error of sums of a few hundred numbers in type T, or in float if T is BFloat16.
template <typename T>
inline constexpr Tolerance kTolerance = {std::numeric_limits<T>::epsilon() / 2,
                                         200 * static_cast<double>(std::numeric_limits<T>::epsilon())};
template <>
inline constexpr Tolerance kTolerance<BFloat16> = {0x1p-8, kTolerance<float>.sums};

/// Compares element by element and reports the first difference. If the root mean square is below 0.2, the error of
/// sums is relative to 0.2, because the numbers of all sums may cancel.
template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, const std::string& what,
                 const Tolerance& tolerance = kTolerance<T>) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double sum_of_squares = 0;
  double count = 0;
  for (const double value : expected) {
    if (!std::isfinite(value)) continue;
    sum_of_squares += value * value;
    ++count;
  }
  const double error_of_sums = tolerance.sums * std::max(0.2, std::sqrt(sum_of_squares / std::max(count, 1.0)));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;  // compares infinities
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance.rounding * std::abs(expected[i]) + error_of_sums)
        << what << ", element " << i << ": " << +actual[i] << " where the definition has " << expected[i];
  }
}

}  // namespace edgewise::kernels
