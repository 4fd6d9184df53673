// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// Relative to the larger of 1 and the expected size: a sum of a few hundred numbers of size 1 in the given type.
template <typename T>
inline constexpr double kTolerance = 200 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// The same sums, made in float and rounded to 8 bits at the end.
template <>
inline constexpr double kTolerance<BFloat16> = 0x1p-8 + kTolerance<float>;

/// Compares element by element and reports the first that differs.
template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, const std::string& what,
                 double tolerance = kTolerance<T>) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;  // infinities too
    const double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
    ASSERT_LE(std::abs(actual[i] - expected[i]), allowed)
        << what << ", element " << i << ": " << +actual[i] << " where the definition has " << expected[i];
  }
}

}  // namespace edgewise::kernels
