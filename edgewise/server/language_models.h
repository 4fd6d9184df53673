// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/generate/generation_service.h"
#include "edgewise/generate/options.h"

namespace edgewise {

/// A language model that continues texts, under the name by which clients request it.
struct ServedLanguageModel {
  std::string name;
  std::string path;  // a run or model directory, or the name of a model
  std::unique_ptr<GenerationService> service;
};

/// Loads the language models of a server. Tests load others.
struct LanguageModelLoader {
  std::function<std::string(const std::string& path)> revision;  // a text that changes with the model's files
  std::function<std::unique_ptr<GenerationService>(const std::string& path)> load;
};

/// Returns the loader of model directories, whose requests have at most `max_tokens` tokens together.
LanguageModelLoader make_language_model_loader(const GeneratorOptions& options, std::int64_t max_tokens);

/// The language models of a server. Threads may call all functions at the same time.
class LanguageModels {
 public:
  using Report = std::function<void(std::string_view line)>;

  /// Loads the models of `specs`, each NAME=PATH, or PATH, whose name is its last part. Throws Error if one cannot be
  /// loaded, and for an empty name and two equal names.
  LanguageModels(const std::vector<std::string>& specs, LanguageModelLoader loader);

  /// Returns the models of the moment. A request keeps its model until the request ends.
  std::vector<std::shared_ptr<const ServedLanguageModel>> models() const;

  /// Loads each model whose revision has changed beside the running one. Calls `report` as ModelRegistry::reload does.
  void reload(const Report& report);

  /// Returns the sum over all models.
  GenerationService::Load load() const;

 private:
  struct LoadedModel {
    std::string revision;
    std::shared_ptr<const ServedLanguageModel> model;
  };
  LoadedModel load_model(const std::string& name, const std::string& path) const;

  LanguageModelLoader loader_;
  std::mutex reload_mutex_;  // held by one reload() at a time
  mutable std::mutex mutex_;
  std::vector<LoadedModel> loaded_;
};

}  // namespace edgewise
