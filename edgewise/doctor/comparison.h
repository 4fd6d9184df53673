// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace edgewise {

/// The result of a test: whether the numbers are right, and a sentence about them.
struct Finding {
  bool is_right = false;
  std::string text;
};

/// Compares the bits of numbers with those of the numbers whose bytes have the SHA-256 that begins with `digest`.
Finding compare_bits(std::span<const float> found, std::string_view digest);

/// Compares numbers one by one with expected numbers.
class Comparison {
 public:
  /// `allowed` is the largest allowed difference.
  void add(double found, double expected, double allowed);

  /// Compares with numbers in double. The allowed difference is that of the tests of kernels: half a rounding step of
  /// each number, and 200 steps of the root mean square of all numbers, but at least of 0.2.
  void add_sums(std::span<const float> found, std::span<const double> expected);

  /// Requires the same bits.
  void add_equal(std::span<const float> found, std::span<const float> expected, std::string_view what);

  /// Records the text of the first condition that does not hold.
  void require(bool condition, std::string_view text);

  Finding finding() const;

 private:
  double largest_ = 0;  // largest difference, in allowed differences
  std::string failure_;
};

}  // namespace edgewise
