// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/safetensors.h"

// The parameters of a model in a file. A parameter is stored as F32, F16 or BF16. A matrix may also be stored as I8
// with a scale for each row, the F32 tensor NAME.scale: the value of an element is the integer times the scale of its
// row. Such a matrix may have an input multiplier, the F32 tensor NAME.input_multiplier, [1]: a product in 8 bits then
// multiplies its other factor by this number and rounds it to integers of at most 127 in magnitude, instead of dividing
// each row of this factor by a scale of its own.

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

/// Describes the difference between a file and one with the parameter `name` of a shape, as a part of a sentence:
/// `lacks "a.bias"`, `has "a.bias" as F64 [4] instead of F32 [4]`. Returns an empty string if there is none.
std::string describe_difference(const SafetensorsFile& file, const std::string& name,
                                std::span<const std::int64_t> shape);

/// Returns whether a model in 8 bits stores a parameter of so many dimensions as I8: an embedding table, or the weight
/// of a product. The others are few numbers: biases, norms, learned positions, filters and halting units.
bool is_stored_in_8_bits(std::string_view name, std::size_t dimensions);

/// Returns the scales of a matrix of I8; null for another tensor, and if the file lacks the scales.
const TensorInfo* find_scales(const SafetensorsFile& file, const TensorInfo& tensor);

/// Returns the input multiplier of a matrix of I8, a positive number with a finite inverse; 0 if there is none. Throws
/// Error, beginning with `where`, for another number or tensor.
float find_input_multiplier(const SafetensorsFile& file, const TensorInfo& tensor, std::string_view where);

/// Returns whether a tensor has the scales or the input multiplier of a matrix of I8 in the file.
bool are_scales(const SafetensorsFile& file, const TensorInfo& tensor);

/// Writes the values of a parameter for which describe_difference finds nothing, on all threads. Only values of I8 are
/// rounded.
void read_values(const SafetensorsFile& file, const TensorInfo& tensor, std::span<float> to);

}  // namespace edgewise
