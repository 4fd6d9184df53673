// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace edgewise {

/// Generates any bits of a double and, as often, numbers that break arithmetic on ranges.
inline rc::Gen<double> hostile_number() {
  using Limits = std::numeric_limits<double>;
  const auto any_bits =
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
  const auto special = rc::gen::element(0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, Limits::max(), Limits::lowest(),
                                        Limits::min(), Limits::denorm_min(), -Limits::denorm_min(), Limits::infinity(),
                                        -Limits::infinity(), Limits::quiet_NaN(), 5e-4, 9007199254740993.0);
  const auto ordinary = rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000), [](int value) { return value / 1000.0; });
  return rc::gen::oneOf(any_bits, special, ordinary);
}

/// Generates series of up to 1000 values: constant, with neighbouring floating-point numbers, or of mixed numbers.
inline rc::Gen<std::vector<double>> hostile_series() {
  return rc::gen::exec([] {
    const auto size =
        static_cast<std::size_t>(*rc::gen::weightedElement<int>({{1, 0}, {2, 1}, {4, 2}, {4, 9}, {1, 1000}}));
    const int kind = *rc::gen::inRange(0, 3);
    if (kind == 0) return *rc::gen::container<std::vector<double>>(size, hostile_number());
    std::vector<double> values(size, *hostile_number());
    if (kind == 1) return values;
    for (double& value : values) {
      if (*rc::gen::inRange(0, 2) == 1) value = std::nextafter(value, 0.0);
    }
    return values;
  });
}

}  // namespace edgewise
