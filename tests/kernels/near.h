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

/// The allowed relative error: that of a sum of a few hundred numbers of type T.
template <typename T>
inline constexpr double kTolerance = 200 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// The error for bf16: sums are computed in float, and rounded to bf16 (8 bits) at the end.
template <>
inline constexpr double kTolerance<BFloat16> = 0x1p-8 + kTolerance<float>;

/// Compares element by element and reports the first difference. The error of a small element is relative to the
/// largest element, but to at most 1 and at least 0.2, because small elements are differences of larger numbers.
template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, const std::string& what,
                 double tolerance = kTolerance<T>) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double floor = 0.2;
  for (const double value : expected) {
    if (std::isfinite(value)) floor = std::clamp(std::abs(value), floor, 1.0);
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;  // compares infinities
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance * std::max(floor, std::abs(expected[i])))
        << what << ", element " << i << ": " << +actual[i] << " where the definition has " << expected[i];
  }
}

}  // namespace edgewise::kernels
