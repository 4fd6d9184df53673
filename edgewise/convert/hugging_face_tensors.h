// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"

namespace edgewise {

/// Reads the parameters of a model of transformers: model.safetensors, several files that an index lists, or
/// pytorch_model.bin. Throws Error, beginning with `caller`, if the directory has none of them.
StoredTensors read_hugging_face_tensors(const std::filesystem::path& directory, std::string_view caller);

}  // namespace edgewise
