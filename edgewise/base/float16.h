// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace edgewise {

/// A number in IEEE 754's half precision, as files store it. The class only holds numbers that were copied from bytes.
class Float16 {
 public:
  Float16() = default;

  /// Returns the number, exactly. The three cases are computed and one is selected, so that loops can be vectorised.
  operator float() const {
    constexpr std::uint32_t kExponent = 0x0F800000;  // the bits of the exponent in `magnitude`
    const std::uint32_t sign = (bits_ & std::uint32_t{0x8000}) << 16;
    const std::uint32_t magnitude = (bits_ & std::uint32_t{0x7FFF}) << 13;
    const std::uint32_t normal = magnitude + (std::uint32_t{127 - 15} << 23);
    const std::uint32_t infinite_or_nan = magnitude + (std::uint32_t{255 - 31} << 23);
    const auto subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (std::uint32_t{127 - 14} << 23)) - 0x1p-14f);
    const std::uint32_t exponent = magnitude & kExponent;
    const std::uint32_t finite = exponent == 0 ? subnormal : normal;
    return std::bit_cast<float>((exponent == kExponent ? infinite_or_nan : finite) | sign);
  }

 private:
  std::uint16_t bits_;
};

static_assert(sizeof(Float16) == 2);

}  // namespace edgewise
