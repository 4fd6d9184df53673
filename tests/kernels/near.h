// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// The allowed error relative to max(1, |expected|): the error of a sum of a few hundred numbers of size 1 in type T.
template <typename T>
inline constexpr double kTolerance = 200 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// The error for bf16: sums are computed in float, and rounded to bf16 (8 bits) at the end.
template <>
inline constexpr double kTolerance<BFloat16> = 0x1p-8 + kTolerance<float>;

/// Compares element by element and reports the first difference.
template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, const std::string& what,
                 double tolerance = kTolerance<T>) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;  // compares infinities
    const double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
    ASSERT_LE(std::abs(actual[i] - expected[i]), allowed)
        << what << ", element " << i << ": " << +actual[i] << " where the definition has " << expected[i];
  }
}

}  // namespace edgewise::kernels
