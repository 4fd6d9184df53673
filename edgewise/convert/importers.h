// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "edgewise/convert/imported_model.h"

namespace edgewise {

/// Returns the most tokens of a sentence such that it has at most `positions` with the tokens around it.
std::int64_t longest_input(std::int64_t positions, const Vocabulary& vocabulary);

// One importer for each kind of directory; import_model chooses. Errors begin with `caller`.
ImportedModel import_hugging_face(const std::filesystem::path& directory, std::string_view caller);
ImportedModel import_marian(const std::filesystem::path& directory, std::string_view caller);
ImportedModel import_ctranslate2(const std::filesystem::path& directory, std::string_view caller);

}  // namespace edgewise
