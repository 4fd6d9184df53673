// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

// Archives of arrays as NumPy and Marian write them: a zip archive with a file `name.npy` for each array. Marian keeps
// its options in the array "special:model.yml" (to_text).

namespace edgewise {

/// Reads an archive. Throws Error for an entry that is no npy file; ZipArchive and parse_npy describe further limits.
StoredTensors read_npz(const std::filesystem::path& path, std::string_view caller = "read_npz");

/// Parses the bytes of an archive. Errors call it `name`.
StoredTensors parse_npz(std::string bytes, std::string_view name);

/// Returns an archive without compression. Equal tensors give equal bytes.
std::string serialize_npz(std::span<const TensorInfo> tensors);

}  // namespace edgewise
