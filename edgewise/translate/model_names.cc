// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFoldersVariable = "EDGEWISE_MODELS";
constexpr const char* kInstallCommand = EDGEWISE_MODELS_COMMAND;
constexpr std::string_view kSystemFolder = "/usr/share/edgewise/models";

/// Returns the folders beside that of the program's file; nothing if the system does not name this file.
std::vector<fs::path> folders_beside_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = program.parent_path().parent_path();
  return {prefix / "share/edgewise/models", prefix / "models"};
}

std::vector<fs::path>& program_folders() {
  static std::vector<fs::path> folders = folders_beside_program();
  return folders;
}

/// Splits a list with colons between its parts, and leaves out empty parts.
std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(':'));
    if (!part.empty()) parts.emplace_back(part);
    list.remove_prefix(std::min(list.size(), part.size() + 1));
  }
  return parts;
}

std::vector<std::string> texts_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> texts;
  texts.reserve(paths.size());
  for (const fs::path& path : paths) texts.push_back(path.string());
  return texts;
}

/// Lists the models of all folders that can be read.
std::set<std::string> list_model_names(std::string_view caller) {
  std::set<std::string> names;
  for (const fs::path& folder : model_folders()) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const fs::path name = entry->path().filename();
      if (find_named_model(name, caller)) names.insert(name.string());
    }
  }
  return names;
}

/// Says how to install the models that come with the programs, unless all of them have been found or no command
/// installs them.
std::string describe_installation(const std::set<std::string>& found) {
  const std::vector<std::string> names = split_list(EDGEWISE_MODEL_NAMES);
  const bool has_all = std::ranges::all_of(names, [&](const std::string& name) { return found.contains(name); });
  if (has_all || std::string_view(kInstallCommand).empty()) return "";
  return fmt::format("; in a clone of Edgewise, {} adds {}", kInstallCommand, fmt::join(names, ", "));
}

}  // namespace

std::optional<fs::path> model_directory(const fs::path& path, std::string_view caller) {
  if (has_entry(path / kManifestName, caller)) return path;
  for (const fs::path& directory : {path / "best", path / "last"}) {
    if (has_entry(directory, caller)) return directory;
  }
  return std::nullopt;
}

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  };
  const char* variable = std::getenv(kFoldersVariable);
  std::ranges::for_each(split_list(variable == nullptr ? "" : variable), add);
  std::ranges::for_each(program_folders(), add);
  add(kSystemFolder);
  return folders;
}

void set_program_model_folders(std::vector<fs::path> folders) { program_folders() = std::move(folders); }

std::optional<fs::path> find_named_model(const fs::path& name, std::string_view caller) {
  if (!is_plain_name(name.native())) return std::nullopt;
  for (const fs::path& folder : model_folders()) {
    if (auto directory = model_directory(folder / name, caller)) return directory;
  }
  return std::nullopt;
}

std::string describe_model_names(std::string_view caller) {
  const std::set<std::string> names = list_model_names(caller);
  return fmt::format("the name of a model in {}, which have {}{}", fmt::join(texts_of(model_folders()), ", "),
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")), describe_installation(names));
}

}  // namespace edgewise
