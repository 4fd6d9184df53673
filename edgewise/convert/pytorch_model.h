// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

namespace edgewise {

/// Reads the bytes of a storage, which the pickle names by a key. Throws Error if there is none.
using StorageReader = std::function<std::string(std::string_view key)>;

/// Reads a pickle that is a dict from names to PyTorch tensors. Tensors may share a storage, which is read once; a
/// tensor that is not contiguous is copied to row-major order. Throws Error, beginning with `where`, for other values,
/// which it names, and for a tensor that reaches beyond its storage or has more elements than it.
StoredTensors read_state_dict(std::string_view pickle, const std::string& where, const StorageReader& read_storage);

/// Reads a state dict that torch.save wrote, such as pytorch_model.bin of Hugging Face: a zip archive with a pickle,
/// which read_state_dict describes, and a file for each storage. Runs no code of the file. Throws Error for
/// TorchScript, for big-endian files, for files in the format of PyTorch before 1.6, and for anything but tensors.
StoredTensors read_pytorch_model(const std::filesystem::path& path, std::string_view caller = "read_pytorch_model");

/// Parses the bytes of such a file. Errors call it `name`.
StoredTensors parse_pytorch_model(std::string bytes, std::string_view name);

}  // namespace edgewise
