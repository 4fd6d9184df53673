// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "edgewise/base/sha256.h"

namespace edgewise {
namespace {

/// Writes the bytes of each number with the lowest first, so that the digest is the same on every machine.
std::string bytes_of(std::span<const float> numbers) {
  std::string bytes;
  bytes.reserve(numbers.size() * sizeof(float));
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xFF);
  }
  return bytes;
}

}  // namespace

Finding compare_bits(std::span<const float> found, std::string_view digest) {
  const std::string whole = sha256(bytes_of(found));
  if (whole.starts_with(digest)) return {.is_right = true, .text = "expected bits"};
  return {.is_right = false,
          .text = fmt::format("the bits have the SHA-256 {}…, needs {}…", whole.substr(0, digest.size()), digest)};
}

void Comparison::add(double found, double expected, double allowed) {
  const double difference = std::abs(found - expected);
  if (difference <= allowed) {
    if (difference > 0) largest_ = std::max(largest_, difference / allowed);
  } else if (failure_.empty()) {  // also for a NaN
    failure_ = fmt::format("a number is {:.9g}, needs {:.9g} ± {:.2g}", found, expected, allowed);
  }
}

void Comparison::add_sums(std::span<const float> found, std::span<const double> expected) {
  double squares = 0;
  for (const double number : expected) squares += number * number;
  const double mean = std::sqrt(squares / std::max<double>(1, static_cast<double>(expected.size())));
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    add(found[i], expected[i], kEpsilon / 2 * std::abs(expected[i]) + 200 * kEpsilon * std::max(0.2, mean));
  }
}

void Comparison::add_equal(std::span<const float> found, std::span<const float> expected, std::string_view what) {
  const bool is_equal = std::ranges::equal(found, expected, [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
  require(is_equal, fmt::format("{} changes the bits, needs the same bits", what));
}

void Comparison::require(bool condition, std::string_view text) {
  if (!condition && failure_.empty()) failure_ = text;
}

Finding Comparison::finding() const {
  if (!failure_.empty()) return {.is_right = false, .text = failure_};
  return {.is_right = true,
          .text = largest_ > 0
                      ? fmt::format("largest error {:.0f} % of the allowed one", std::ceil(100 * largest_ - 1e-6))
                      : "expected bits"};
}

}  // namespace edgewise
