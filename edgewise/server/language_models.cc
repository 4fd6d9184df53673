// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/language_models.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/served_model.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

/// Returns the last part of a path, without slashes after it.
std::string last_part(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return std::filesystem::path(path).filename().string();
}

}  // namespace

LanguageModelLoader make_language_model_loader(const GeneratorOptions& options, std::int64_t max_tokens) {
  return {.revision = [](const std::string& path) { return model_revision({.path = path}); },
          .load =
              [options, max_tokens](const std::string& path) {
                auto engine = std::make_unique<GenerationEngine>(read_model_files(path, "server"), options);
                return std::make_unique<GenerationService>(std::move(engine), max_tokens);
              }};
}

LanguageModels::LanguageModels(const std::vector<std::string>& specs, LanguageModelLoader loader)
    : loader_(std::move(loader)) {
  for (const std::string& spec : specs) {
    const std::size_t equals = spec.find('=');
    const std::string path = equals == std::string::npos ? spec : spec.substr(equals + 1);
    const std::string name = equals == std::string::npos ? last_part(path) : spec.substr(0, equals);
    check(!name.empty() && !find_bad_utf8(name), "server: --language-model is {}, needs NAME=DIR or DIR", quote(spec));
    const bool is_new = std::ranges::none_of(loaded_, [&](const auto& loaded) { return loaded.model->name == name; });
    check(is_new, "server: --language-model {} is given twice, needs one model of each name", quote_unless_plain(name));
    loaded_.push_back(load_model(name, path));
  }
}

LanguageModels::LoadedModel LanguageModels::load_model(const std::string& name, const std::string& path) const {
  // The revision is read first: files that change meanwhile are loaded again by the next reload().
  std::string revision = loader_.revision(path);
  auto model = std::make_shared<ServedLanguageModel>();
  model->name = name;
  model->path = path;
  model->service = loader_.load(path);
  return {std::move(revision), std::move(model)};
}

std::vector<std::shared_ptr<const ServedLanguageModel>> LanguageModels::models() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const ServedLanguageModel>> models;
  for (const LoadedModel& loaded : loaded_) models.push_back(loaded.model);
  return models;
}

void LanguageModels::reload(const Report& report) {
  const std::lock_guard one_at_a_time(reload_mutex_);
  for (LoadedModel& loaded : loaded_) {
    const std::string path = loaded.model->path;
    try {
      if (loader_.revision(path) == loaded.revision) continue;
      LoadedModel changed = load_model(loaded.model->name, path);
      {
        const std::lock_guard lock(mutex_);
        std::swap(loaded, changed);
      }
      report(fmt::format("reload: {} is loaded", path));
    } catch (const std::exception& error) {
      report(fmt::format("reload: {} is not loaded, and its last version stays: {}", path, error.what()));
    }
  }
}

GenerationService::Load LanguageModels::load() const {
  GenerationService::Load sum;
  for (const auto& model : models()) {
    const GenerationService::Load load = model->service->load();
    sum.calls += load.calls;
    sum.waiting += load.waiting;
    sum.running += load.running;
    sum.tokens += load.tokens;
  }
  return sum;
}

}  // namespace edgewise
