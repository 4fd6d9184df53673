// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_paths.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
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

constexpr const char* kStandardInput = "/dev/stdin";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_same(const fs::path& left, const fs::path& right) {
  std::error_code error;
  return fs::equivalent(left, right, error) && !error;
}

fs::path real(const fs::path& path) {
  std::error_code error;
  return real_path(path, error);
}

/// Whether a path lies below a directory.
bool lies_in(const fs::path& path, const fs::path& directory) {
  const fs::path inner = real(path);
  const fs::path outer = real(directory);
  const auto [end, rest] = std::ranges::mismatch(outer, inner);
  return end == outer.end() && rest != inner.end();
}

/// Returns the paths that a command reads for an input: the input itself, and the directory of its model.
std::vector<fs::path> paths_of(const fs::path& input, std::string_view caller) {
  if (input == "-") return {kStandardInput};
  if (!is_there(input)) {
    const std::optional<fs::path> named = find_named_model(input, caller);
    return named ? std::vector{*named} : std::vector<fs::path>();
  }
  std::vector<fs::path> paths = {input};
  std::error_code error;
  if (!fs::is_directory(input, error)) return paths;
  if (const std::optional<fs::path> model = model_directory(input, caller)) paths.push_back(*model);
  return paths;
}

bool is_listed(const fs::path& file, const fs::path& directory) {
  if (!is_there(directory / kManifestName)) return false;
  if (file.filename() == kManifestName) return true;
  try {
    const Manifest manifest = read_manifest(directory);
    return std::ranges::find(manifest.files, file.filename().string(), &ManifestEntry::name) != manifest.files.end();
  } catch (const Error&) {
    return true;  // a damaged manifest lists unknown files
  }
}

bool is_record_of_run(const fs::path& file, const fs::path& directory) {
  constexpr std::array kRecords = {"metrics.jsonl", "attention.jsonl", "lock"};
  const std::string name = file.filename().string();
  const bool is_record = std::ranges::find(kRecords, name) != kRecords.end() || name.starts_with("events.out.tfevents");
  return is_record && (is_there(directory / "last" / kManifestName) || is_there(directory / "best" / kManifestName));
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

void check_output_directory(const fs::path& output, std::span<const fs::path> inputs, Overwrite overwrite,
                            std::string_view caller) {
  for (const fs::path& input : inputs) {
    for (const fs::path& path : paths_of(input, caller)) {
      check(!is_same(output, path), "{}: {} is also the input, needs another directory for the output", caller,
            output.string());
      check(!lies_in(path, output), "{}: {} holds the input {}, needs another directory for the output", caller,
            output.string(), path.string());
    }
  }
  DirectoryWriter::check_target(output, caller);
  std::error_code error;
  const bool is_free = !fs::exists(output, error) || fs::is_empty(output, error);
  check(is_free || overwrite == Overwrite::kYes,
        "{}: {} exists, needs the name of a new directory; overwrite (--overwrite) replaces this one", caller,
        output.string());
}

void check_output_file(const fs::path& output, std::span<const fs::path> inputs, std::string_view caller) {
  std::error_code error;
  if (!fs::is_regular_file(output, error)) return;  // AtomicFile refuses an existing path that is not a regular file
  for (const fs::path& input : inputs) {
    for (const fs::path& path : paths_of(input, caller)) {
      check(!is_same(output, path), "{}: {} is also an input, needs another name for the output", caller,
            output.string());
    }
  }
  for (const char* stream : {"/dev/stdout", "/dev/stderr"}) {
    check(!is_same(output, stream), "{}: {} is the file that {} writes, needs another name for the output", caller,
          output.string(), stream);
  }
  const fs::path file = real(output);
  const fs::path directory = file.parent_path();
  check(!is_listed(file, directory) && !is_record_of_run(file, directory),
        "{}: {} belongs to the model or run in {}, needs another name for the output", caller, output.string(),
        directory.string());
}

}  // namespace edgewise
