// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pair_folders.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/marian_config.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Returns whether import_model finds a model in the folder that is no student.
bool has_other_model(const fs::path& folder, std::string_view caller) {
  return std::ranges::any_of(std::array{"model.bin", "decoder.yml", "config.json"},
                             [&](const char* name) { return has_entry(folder / name, caller); });
}

std::vector<fs::path> list_folders(const fs::path& folder, std::string_view caller) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // a link to nowhere is no folder
    const bool is_hidden = entry->path().filename().string().starts_with(".");
    if (!is_hidden && entry->is_directory(ignored)) folders.push_back(entry->path());
  }
  check(!error, "{}: {} cannot be read: {}", caller, folder.string(), error.message());
  std::ranges::sort(folders);
  return folders;
}

/// Returns the languages as metadata.json has them; nothing if there is no such file, or none in the file.
std::optional<std::string> languages_of_metadata(const fs::path& folder, std::string_view caller) {
  if (!has_entry(folder / "metadata.json", caller)) return std::nullopt;
  const JsonSettings metadata = JsonSettings::read(folder / "metadata.json", caller);
  std::optional<std::string> source = metadata.text("sourceLanguage");
  std::optional<std::string> target = metadata.text("targetLanguage");
  if (!source || !target) return std::nullopt;
  std::ranges::replace(*source, '-', '_');
  std::ranges::replace(*target, '-', '_');
  return *source + "-" + *target;
}

/// Returns the languages of a name such as model.ende.intgemm.alphas.bin; nothing for another one.
std::optional<std::string> languages_of_model(const fs::path& folder, std::string_view caller) {
  const std::string name = read_marian_student(folder, caller).model.filename().string();
  const std::size_t begin = name.find('.') + 1;
  const std::string pair = name.substr(begin, name.find('.', begin) - begin);
  const bool has_two_codes =
      pair.size() == 4 && std::ranges::all_of(pair, [](char letter) { return 'a' <= letter && letter <= 'z'; });
  if (!has_two_codes) return std::nullopt;
  return pair.substr(0, 2) + "-" + pair.substr(2);
}

std::string languages_of(const fs::path& folder, std::string_view caller) {
  std::optional<std::string> languages = languages_of_metadata(folder, caller);
  const std::string name = folder.filename().string();
  if (!languages && std::ranges::count(name, '-') == 1) languages = name;
  if (!languages) languages = languages_of_model(folder, caller);
  check(languages.has_value() && is_plain_name(*languages),
        "{}: {} has no languages, needs a name such as en-de; rename it", caller, folder.string());
  return *std::move(languages);
}

}  // namespace

std::vector<PairFolder> list_pair_folders(const fs::path& folder, std::string_view caller) {
  std::error_code ignored;  // import_model reports a folder that is missing
  if (!fs::is_directory(folder, ignored) || has_other_model(folder, caller) || is_marian_student(folder, caller)) {
    return {};
  }
  std::vector<PairFolder> pairs;
  std::map<std::string, fs::path> folder_of;
  for (const fs::path& path : list_folders(folder, caller)) {
    if (has_other_model(path, caller) || !is_marian_student(path, caller)) continue;
    pairs.push_back({path, languages_of(path, caller)});
    const auto& [place, is_new] = folder_of.emplace(pairs.back().languages, path);
    check(is_new, "{}: {} and {} have the languages {}, needs one folder for each pair; move one away", caller,
          place->second.string(), path.string(), quote(pairs.back().languages));
  }
  return pairs;
}

}  // namespace edgewise
