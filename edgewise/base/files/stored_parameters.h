// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/safetensors.h"

// The parameters of a model in a file. A parameter is stored as F32, F16 or BF16. A matrix may also be stored as I8
// with a scale for each row, the F32 tensor NAME.scale: the value of an element is the integer times the scale of its
// row.

namespace edgewise {

/// Describes the difference between a file and one with the parameter `name` of a shape, as a part of a sentence:
/// `lacks "a.bias"`, `has "a.bias" as F64 [4] instead of F32 [4]`. Returns an empty string if there is none.
std::string describe_difference(const SafetensorsFile& file, const std::string& name,
                                std::span<const std::int64_t> shape);

/// Returns the scales of a matrix of I8; null for another tensor, and if the file lacks the scales.
const TensorInfo* find_scales(const SafetensorsFile& file, const TensorInfo& tensor);

/// Returns whether a tensor has the scales of a matrix of I8 in the file.
bool are_scales(const SafetensorsFile& file, const TensorInfo& tensor);

/// Writes the values of a parameter for which describe_difference finds nothing, on all threads. Only values of I8 are
/// rounded.
void read_values(const SafetensorsFile& file, const TensorInfo& tensor, std::span<float> to);

}  // namespace edgewise
