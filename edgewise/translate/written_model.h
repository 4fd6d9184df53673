// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "edgewise/translate/model_files.h"

namespace edgewise {

/// Throws Error unless the parameters are the tensors that the model's config describes.
void check_tensors(const ModelFiles& model);

/// Writes a model directory with the config and the vocabularies of a model, and with other parameters: the bytes of a
/// safetensors file. Errors begin with `caller`.
void write_with_parameters(const ModelFiles& model, std::string_view parameters,
                           const std::filesystem::path& destination, std::string_view caller);

}  // namespace edgewise
