// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/served_model.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/languages.h"

namespace edgewise {
namespace {

constexpr std::string_view kAllLanguages = "*";

/// Reads codes between plus signs, or the star for all languages.
std::vector<std::string> parse_codes(std::string_view text, std::string_view spec) {
  std::vector<std::string> codes;
  if (text == kAllLanguages) return codes;
  while (true) {
    const std::string_view name = text.substr(0, text.find('+'));
    const auto code = find_language_code(name);
    check(code.has_value(), "server: --model {} has the language {}, needs a code such as en or pt_BR", quote(spec),
          quote(name));
    check(std::ranges::find(codes, *code) == codes.end(), "server: --model {} has the language {} twice, needs it once",
          quote(spec), *code);
    codes.push_back(*code);
    if (name.size() == text.size()) return codes;
    text.remove_prefix(name.size() + 1);
  }
}

std::vector<std::string> names_of(const std::vector<Language>& languages) {
  std::vector<std::string> names(languages.size());
  std::ranges::transform(languages, names.begin(), &Language::name);
  return names;
}

/// Returns the languages of the inputs that the model distinguishes.
std::vector<std::string> input_names(const Vocabularies& vocabularies) {
  const SentenceRules& rules = vocabularies.input->rules();
  const bool has_list =
      rules.language_place != LanguagePlace::kNone && rules.language_place != LanguagePlace::kOutputBeforeInput;
  return has_list ? names_of(rules.languages) : std::vector<std::string>();
}

std::vector<std::string> output_names(const Vocabularies& vocabularies) {
  const SentenceRules& rules = vocabularies.input->rules();
  if (rules.language_place == LanguagePlace::kNone) return {};
  if (rules.language_place == LanguagePlace::kOutputBeforeInput) return names_of(rules.languages);
  return names_of(vocabularies.output->rules().languages);
}

bool is_language_pair(std::string_view name) {
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && find_language_code(name.substr(0, dash)) &&
         find_language_code(name.substr(dash + 1));
}

/// Reads a model without languages before it. The name of a model that is no path may be a pair of languages.
ModelSpec parse_path(const std::string& path) {
  const bool names_languages = is_plain_name(path) && is_language_pair(path) && !path_exists(path, "server");
  return names_languages ? parse_model_spec(path + "=" + path) : ModelSpec{.path = path};
}

namespace fs = std::filesystem;

ModelSpec spec_of(const fs::path& directory) {
  try {
    return parse_model_spec(directory.filename().string() + "=" + directory.string());
  } catch (const Error&) {
    return {.path = directory.string()};  // the name is no pair of languages
  }
}

}  // namespace

ModelSpec parse_model_spec(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return parse_path(std::string(text));
  const std::string_view pair = text.substr(0, equals);
  const std::size_t dash = pair.find('-');
  check(dash != std::string_view::npos && pair.find('-', dash + 1) == std::string_view::npos,
        "server: --model is {}, needs SOURCE-TARGET=DIR, such as en-de=DIR or pt_BR-en=DIR", quote(text));
  return {parse_codes(pair.substr(0, dash), text), parse_codes(pair.substr(dash + 1), text),
          std::string(text.substr(equals + 1))};
}

std::optional<PairLanguages> ServedModel::languages_of(std::string_view source, std::string_view target) const {
  const auto input = sources.find(source);
  const auto output = targets.find(target);
  if (input == sources.end() || output == targets.end() || source == target) return std::nullopt;
  return PairLanguages{input->second, output->second};
}

std::string model_revision(const ModelSpec& spec) {
  return read_file(find_model(spec.path, "server") / kManifestName, "server");
}

ModelLanguages select_languages(const std::vector<std::string>& codes, const std::vector<std::string>& names,
                                const std::string& path) {
  ModelLanguages all;
  for (const std::string& name : names) {
    if (const auto code = find_language_code(name)) all.emplace(*code, name);
  }
  check(!codes.empty() || !all.empty(),
        "server: --model {} has no list of its languages, needs SOURCE-TARGET before it, such as en-de={}", path, path);
  if (codes.empty()) return all;
  ModelLanguages selected;
  for (const std::string& code : codes) {
    const auto found = all.find(code);
    check(found != all.end() || all.empty(), "server: --model {} lacks the language {}, needs one that the model has",
          path, code);
    selected.emplace(code, found == all.end() ? "" : found->second);
  }
  return selected;
}

std::shared_ptr<ServedModel> load_served_model(const ModelSpec& spec, TranslatorOptions options,
                                               std::int64_t max_outputs) {
  std::vector<ModelFiles> models = read_models({spec.path}, "server");
  const ModelFiles& model = models.front();
  auto served = std::make_shared<ServedModel>();
  served->path = spec.path;
  served->sources = select_languages(spec.sources, input_names(model.codec.vocabularies), spec.path);
  served->targets = select_languages(spec.targets, output_names(model.codec.vocabularies), spec.path);
  served->max_outputs = std::min(max_outputs, options.beam.value_or(model.experiment.search.beam));
  options.n_best = served->max_outputs;
  options.alignment = true;
  served->service = std::make_unique<TranslationService>(std::move(models), std::move(options));
  return served;
}

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
