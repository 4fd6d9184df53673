// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pair_folders.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <system_error>

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
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

bool is_small_letter(char letter) { return 'a' <= letter && letter <= 'z'; }

/// Returns whether a text has the form of a language's code: two or three small letters, and perhaps a script of four
/// letters or a region, such as zh_Hant and pt_BR.
bool is_language_code(std::string_view code) {
  const std::size_t size = std::min(code.find('_'), code.size());
  const std::string_view more = code.substr(std::min(size + 1, code.size()));
  const bool has_region = (more.size() == 2 || more.size() == 3) && std::ranges::none_of(more, is_small_letter);
  return (size == 2 || size == 3) && std::ranges::all_of(code.substr(0, size), is_small_letter) &&
         (size == code.size() || has_region || more.size() == 4) && std::ranges::all_of(more, is_alphanumeric_of_ascii);
}

/// Returns a pair as the server's models_folder has it, or nothing for texts that are no languages.
std::optional<std::string> join_languages(std::string source, std::string target) {
  std::ranges::replace(source, '-', '_');
  std::ranges::replace(target, '-', '_');
  if (!is_language_code(source) || !is_language_code(target)) return std::nullopt;
  return source + "-" + target;
}

/// Returns the languages as metadata.json has them; nothing if there is no such file, or none in the file.
std::optional<std::string> languages_of_metadata(const fs::path& folder, std::string_view caller) {
  if (!has_entry(folder / "metadata.json", caller)) return std::nullopt;
  const JsonSettings metadata = JsonSettings::read(folder / "metadata.json", caller);
  return join_languages(metadata.text("sourceLanguage").value_or(""), metadata.text("targetLanguage").value_or(""));
}

/// Returns the languages of a name such as en-de or en-zh-Hant; nothing for another one.
std::optional<std::string> languages_of_name(const std::string& name) {
  std::optional<std::string> languages;
  for (std::size_t dash = name.find('-'); dash != std::string::npos && !languages; dash = name.find('-', dash + 1)) {
    languages = join_languages(name.substr(0, dash), name.substr(dash + 1));
  }
  return languages;
}

/// Returns the languages of a name such as model.ende.intgemm.alphas.bin; nothing for another one.
std::optional<std::string> languages_of_model(const fs::path& folder, std::string_view caller) {
  const std::string name = read_marian_student(folder, caller).model.filename().string();
  const std::size_t begin = name.find('.') + 1;
  const std::string pair = name.substr(begin, name.find('.', begin) - begin);
  return pair.size() == 4 ? join_languages(pair.substr(0, 2), pair.substr(2)) : std::nullopt;
}

std::string languages_of(const fs::path& folder, std::string_view caller) {
  std::optional<std::string> languages = languages_of_metadata(folder, caller);
  if (!languages) languages = languages_of_name(folder.filename().string());
  if (!languages) languages = languages_of_model(folder, caller);
  check(languages.has_value(), "{}: {} has no languages, needs a name such as en-de; rename it", caller,
        folder.string());
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
