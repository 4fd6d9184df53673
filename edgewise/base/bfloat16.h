// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace edgewise {

/// The upper 16 bits of a float: the float's range with 8 bits of precision. The class only stores numbers, in the
/// layout of at::BFloat16; arithmetic converts to float. Functions are constexpr, so that device code can call them
/// (nvcc_options.txt).
class BFloat16 {
 public:
  /// Leaves the value undefined; trivial, as shared memory needs.
  BFloat16() = default;

  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  constexpr explicit BFloat16(float value) : bits_(0) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = value != value;
    const std::uint32_t rounding = 0x7FFF + ((bits >> 16) & 1);
    bits_ = static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40 : (bits + rounding) >> 16);
  }

  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

 private:
  std::uint16_t bits_;
};

static_assert(sizeof(BFloat16) == 2);

}  // namespace edgewise
