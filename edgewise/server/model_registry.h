// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/server/served_model.h"

namespace edgewise {

/// A translation by one model, as a part of a route from the language of a text to another one.
struct RouteStep {
  std::shared_ptr<ServedModel> model;
  PairLanguages languages;  // names in the model
  std::string source;       // code
};

/// The models that translate a text one after another: none between equal languages, two by way of a third language.
using Route = std::vector<RouteStep>;

/// Loaded models and the languages between which they translate; never changes.
class ServedLanguages {
 public:
  /// Two models translate by way of the language with the code `pivot` where no single one does; empty: never.
  ServedLanguages(std::vector<std::shared_ptr<ServedModel>> models, const std::string& pivot);

  const std::vector<std::shared_ptr<ServedModel>>& models() const { return models_; }

  /// Returns the codes of all languages, and the codes into which each is translated; its own is among them.
  const std::map<std::string, std::set<std::string>, std::less<>>& targets() const { return targets_; }

  /// Returns the code of the language that a client calls `name`, or a broader one, such as `en` for `en-US`; nothing
  /// if no model has such a language.
  std::optional<std::string> find_code(std::string_view name) const;

  /// Returns nothing if the models do not translate between the languages. The first model that does has precedence.
  std::optional<Route> find_route(const std::string& source, const std::string& target) const;

 private:
  std::optional<RouteStep> find_step(const std::string& source, const std::string& target) const;

  std::vector<std::shared_ptr<ServedModel>> models_;
  std::string pivot_;
  std::map<std::string, std::set<std::string>, std::less<>> targets_;
};

/// Finds and loads the models of a registry.
struct ModelLoader {
  std::function<std::string(const ModelSpec&)> revision;  // as model_revision
  std::function<std::shared_ptr<ServedModel>(const ModelSpec&)> load;
  std::function<std::vector<ModelSpec>()> list = {};  // returns models that come and go, as list_models; may be empty
};

/// The models of a server. Threads may call all functions at the same time.
class ModelRegistry {
 public:
  using Report = std::function<void(std::string_view line)>;

  /// Loads the models of `specs`, and throws Error if one cannot be loaded, translates no language into another one, or
  /// is given for a pair of languages that another one is given for. Then loads those that the loader lists, and calls
  /// `report` with the error of each that cannot be loaded. Without a list, at least one model is needed, and one with
  /// the language `pivot` unless that is empty; with a list, reports that no model has it.
  ModelRegistry(std::vector<ModelSpec> specs, ModelLoader loader, std::string pivot = {}, const Report& report = {});

  /// Returns the languages of the moment. A request keeps the result until the request ends.
  std::shared_ptr<const ServedLanguages> languages() const;

  /// Loads each model whose revision has changed beside the running one, which goes on until its last request ends.
  /// Also adds and removes models as the loader lists them. Calls `report` with one line for each model that was loaded
  /// or removed, and with the error of each that could not be loaded, which stays as it was.
  void reload(const Report& report);

  /// Refuses new requests, and waits for the end of the others.
  void drain();

  /// Returns the sum over all models.
  ClientQueue::Load load() const;

 private:
  struct LoadedModel {
    ModelSpec spec;
    std::string revision;
    std::shared_ptr<ServedModel> model;
    bool is_listed = false;  // whether the loader listed it
  };

  void update_list(const Report& report);
  /// Returns whether the model could be loaded.
  bool add_listed(const ModelSpec& spec, const Report& report);
  void load_model(LoadedModel& loaded) const;
  void check_pairs(const ModelSpec& spec) const;
  /// Returns the error of a pivot that is no language of the models; an empty text for any other one.
  std::string pivot_error() const;
  void publish();

  ModelLoader loader_;
  std::string pivot_;
  std::mutex reload_mutex_;  // held by one reload() at a time
  std::vector<LoadedModel> loaded_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedLanguages> languages_;
};

}  // namespace edgewise
