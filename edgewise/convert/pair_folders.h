// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// A student's folder in a folder of several.
struct PairFolder {
  std::filesystem::path path;
  std::string languages;  // such as en-de or zh_Hant-en, as the server's models_folder has them
};

/// Returns the folders of students (is_marian_student) in a folder, in the order of their names, if the folder itself
/// has no model: Firefox's models and fxtranslate have a folder for each pair of languages. The languages are those of
/// metadata.json (sourceLanguage, targetLanguage), or else of the folder's name, such as en-de or en-zh-Hant, or
/// else the four letters of model.XXYY.….bin. Throws Error if none of these names languages, and for two folders of one
/// pair.
std::vector<PairFolder> list_pair_folders(const std::filesystem::path& folder, std::string_view caller);

}  // namespace edgewise
