// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

ModelSpec spec_of(const fs::path& directory) {
  try {
    return parse_model_spec(directory.filename().string() + "=" + directory.string());
  } catch (const Error&) {
    return {.path = directory.string()};  // the name is no pair of languages
  }
}

}  // namespace

std::vector<ModelSpec> list_models(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> directories;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // a link to nowhere is no directory
    const bool is_hidden = entry->path().filename().string().starts_with(".");
    if (!is_hidden && entry->is_directory(ignored)) directories.push_back(entry->path());
  }
  check(!error, "server: server.models_folder {}: {}", quote(folder), error.message());
  std::ranges::sort(directories);
  std::vector<ModelSpec> specs;
  specs.reserve(directories.size());
  for (const fs::path& directory : directories) specs.push_back(spec_of(directory));
  return specs;
}

}  // namespace edgewise
