// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

namespace edgewise {

/// Reads a state dict that torch.save wrote, such as pytorch_model.bin of Hugging Face: a zip archive with a pickle,
/// which read_state_dict describes, and a file for each storage. Runs no code of the file. Throws Error for
/// TorchScript, for big-endian files, for files in the format of PyTorch before 1.6, and for anything but tensors.
StoredTensors read_pytorch_model(const std::filesystem::path& path, std::string_view caller = "read_pytorch_model");

/// Parses the bytes of such a file. Errors call it `name`.
StoredTensors parse_pytorch_model(std::string bytes, std::string_view name);

}  // namespace edgewise
