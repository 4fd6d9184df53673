// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/output_path.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/translate/model_names.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

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
  if (!fs::is_regular_file(output, error)) return;  // AtomicFile refuses what exists and is none
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
