// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

// NumPy's format for one array: magic bytes, a header that is a Python dict, then the elements.

namespace edgewise {

/// Appends the array of an npy file of version 1, 2 or 3 to `tensors`. An array in Fortran order is copied to row-major
/// order. Throws Error, beginning with `where`, for other element types than those of DType, for big-endian elements,
/// and for a file that does not end with the array's last element.
void parse_npy(std::string file, std::string_view name, const std::string& where, StoredTensors& tensors);

/// Returns the npy file of a tensor, of version 1: the bytes that NumPy writes. Throws Error for BF16, which NumPy
/// lacks.
std::string serialize_npy(const TensorInfo& tensor);

}  // namespace edgewise
