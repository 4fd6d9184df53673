// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"

namespace edgewise {

inline std::filesystem::path folder_of_committed_models() { return EDGEWISE_CONVERT_FIXTURES "/../models"; }

/// Returns the folder of the models that models/make_models makes. To test more models:
/// EDGEWISE_MODELS=FOLDER build/tests/convert/test_convert --gtest_filter='*Model*'
inline std::filesystem::path folder_of_models() {
  const char* other = std::getenv("EDGEWISE_MODELS");
  return other != nullptr ? other : folder_of_committed_models();
}

inline std::vector<std::string> list_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of_models())) {
    if (std::filesystem::exists(entry.path() / "cases.json")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace edgewise
