// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/stored_tensor.h"

// Marian's binary file of arrays, model.bin. Numbers are little-endian with 64 bits, but dimensions have 32:
//   version, 1; number of arrays
//   for each array: size of its name with a NUL; type; number of dimensions; size of its elements in bytes, with gaps
//   all names; all dimensions; size of the gap that follows, and the gap
//   the elements of each array
// An array of the type `intgemm8` has integers of 8 bits, after which comes a float, the multiplier: the integers are
// the numbers times the multiplier, rounded. A matrix of the type has the order of its transpose, because products read
// it so, unless the array is a table of embeddings, whose name contains "Wemb".

namespace edgewise {

/// Reads such a file. A matrix of `intgemm8` becomes I8 in row-major order, and gets the tensor NAME.scale of F32, as
/// base/files/stored_parameters.h describes it: the inverse of the multiplier, for each row of a table, or for each
/// column of another matrix, which is a row of the parameter. A single number of `intgemm8` becomes F32 with its value.
/// Throws Error for other types than float32, float16, int8 and intgemm8, for a multiplier that is not a positive
/// number with a finite inverse, for names that occur twice, and for bytes after the last array.
StoredTensors read_marian_binary(const std::filesystem::path& path, std::string_view caller = "read_marian_binary");

/// Parses the bytes of such a file. Errors begin with `where`.
StoredTensors parse_marian_binary(std::string bytes, const std::string& where);

/// An array of the type `intgemm8`: integers in row-major order.
struct IntgemmArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int8_t> values;
  float multiplier = 1;
};

/// Returns the bytes of a file with these tensors, of F32, F16 or I8, and then these arrays.
std::string serialize_marian_binary(std::span<const TensorInfo> tensors, std::span<const IntgemmArray> arrays);

}  // namespace edgewise
