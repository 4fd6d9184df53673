// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

namespace edgewise {

// NumPy's format for one array: magic bytes, a header that is a Python dict, then the elements.

/// Appends the array of an npy file of version 1, 2 or 3 to `tensors`. An array in Fortran order is copied to row-major
/// order. Throws Error, beginning with `where`, for other element types than those of DType, for big-endian elements,
/// and for a file that does not end with the array's last element.
void parse_npy(std::string file, std::string_view name, const std::string& where, StoredTensors& tensors);

/// Returns the npy file of a tensor, of version 1: the bytes that NumPy writes. Throws Error for BF16, which NumPy
/// lacks.
std::string serialize_npy(const TensorInfo& tensor);

// Archives of arrays as NumPy and Marian write them: a zip archive with a file `name.npy` for each array. Marian keeps
// its options in the array "special:model.yml" (to_text).

/// Reads an archive. Throws Error for an entry that is no npy file; ZipArchive and parse_npy describe further limits.
StoredTensors read_npz(const std::filesystem::path& path, std::string_view caller = "read_npz");

/// Parses the bytes of an archive. Errors call it `name`.
StoredTensors parse_npz(std::string bytes, std::string_view name);

/// Returns an archive without compression. Equal tensors give equal bytes.
std::string serialize_npz(std::span<const TensorInfo> tensors);

}  // namespace edgewise
