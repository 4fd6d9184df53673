// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/model_registry.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/languages.h"

namespace edgewise {

namespace {

bool has_two_languages(const ServedModel& model) {
  return std::ranges::any_of(model.sources, [&](const auto& source) {
    return std::ranges::any_of(model.targets, [&](const auto& target) { return source.first != target.first; });
  });
}

/// Returns whether a model is given for a pair of languages by name, and not as one of all that the model has.
bool names_pair(const ModelSpec& spec, const std::string& source, const std::string& target) {
  return source != target && std::ranges::count(spec.sources, source) > 0 &&
         std::ranges::count(spec.targets, target) > 0;
}

}  // namespace

ServedLanguages::ServedLanguages(std::vector<std::shared_ptr<ServedModel>> models, const std::string& pivot)
    : models_(std::move(models)) {
  for (const auto& model : models_) {
    for (const auto& [source, source_name] : model->sources) {
      targets_[source].insert(source);
      for (const auto& [target, target_name] : model->targets) targets_[source].insert(target);
    }
    for (const auto& [target, name] : model->targets) targets_[target].insert(target);
  }
  pivot_ = find_code(pivot).value_or("");
  const auto pivot_targets = targets_.find(pivot_);
  if (pivot_targets == targets_.end()) return;
  for (auto& [source, targets] : targets_) {
    if (targets.contains(pivot_)) targets.insert(pivot_targets->second.begin(), pivot_targets->second.end());
  }
}

std::optional<std::string> ServedLanguages::find_code(std::string_view name) const {
  const auto exact = find_language_code(name);
  if (!exact) return std::nullopt;
  for (std::string& code : broader_codes(*exact)) {
    if (targets_.contains(code)) return std::move(code);
  }
  return std::nullopt;
}

std::optional<RouteStep> ServedLanguages::find_step(const std::string& source, const std::string& target) const {
  for (const auto& model : models_) {
    if (auto languages = model->languages_of(source, target)) return RouteStep{model, *std::move(languages), source};
  }
  return std::nullopt;
}

std::optional<Route> ServedLanguages::find_route(const std::string& source, const std::string& target) const {
  if (source == target) return Route();
  if (auto step = find_step(source, target)) return Route{*std::move(step)};
  auto first = find_step(source, pivot_);
  auto second = find_step(pivot_, target);
  if (!first || !second) return std::nullopt;
  return Route{*std::move(first), *std::move(second)};
}

ModelRegistry::ModelRegistry(std::vector<ModelSpec> specs, ModelLoader loader, std::string pivot, const Report& report)
    : loader_(std::move(loader)), pivot_(std::move(pivot)) {
  check(!specs.empty() || loader_.list, "server: --model is missing, needs at least one model");
  for (ModelSpec& spec : specs) {
    check_pairs(spec);
    loaded_.push_back({.spec = std::move(spec), .revision = {}, .model = {}, .is_listed = false});
    load_model(loaded_.back());
  }
  if (loader_.list) {
    for (const ModelSpec& spec : loader_.list()) add_listed(spec, report);
  }
  publish();
  const std::string error = pivot_error();
  check(error.empty() || loader_.list, "server: {}", error);
  if (!error.empty() && report) report(error);
}

std::shared_ptr<const ServedLanguages> ModelRegistry::languages() const {
  const std::lock_guard lock(mutex_);
  return languages_;
}

bool ModelRegistry::add_listed(const ModelSpec& spec, const Report& report) {
  LoadedModel loaded{.spec = spec, .revision = {}, .model = {}, .is_listed = true};
  try {
    check_pairs(spec);
    load_model(loaded);
  } catch (const std::exception& error) {
    if (report) report(fmt::format("{} is not loaded: {}", spec.path, error.what()));
    return false;
  }
  loaded_.push_back(std::move(loaded));
  return true;
}

void ModelRegistry::update_list(const Report& report) {
  const std::vector<ModelSpec> specs = loader_.list();
  std::vector<std::string> removed;
  std::erase_if(loaded_, [&](const LoadedModel& loaded) {
    const auto is_same = [&](const ModelSpec& spec) { return spec.path == loaded.spec.path; };
    const bool is_removed = loaded.is_listed && std::ranges::none_of(specs, is_same);
    if (is_removed) removed.push_back(loaded.spec.path);
    return is_removed;
  });
  if (!removed.empty()) publish();
  for (const std::string& path : removed) report(fmt::format("reload: {} is removed", path));
  for (const ModelSpec& spec : specs) {
    const auto is_loaded = [&](const LoadedModel& loaded) { return loaded.is_listed && loaded.spec.path == spec.path; };
    if (std::ranges::any_of(loaded_, is_loaded)) continue;
    if (!add_listed(spec, [&](std::string_view line) { report(fmt::format("reload: {}", line)); })) continue;
    publish();
    report(fmt::format("reload: {} is loaded", spec.path));
  }
}

void ModelRegistry::reload(const Report& report) {
  const std::lock_guard lock(reload_mutex_);
  if (loader_.list) {
    try {
      update_list(report);
    } catch (const std::exception& error) {
      report(fmt::format("reload: no model is added or removed: {}", error.what()));
    }
  }
  for (LoadedModel& loaded : loaded_) {
    try {
      if (loader_.revision(loaded.spec) == loaded.revision) continue;
      load_model(loaded);
      publish();
      report(fmt::format("reload: {} is loaded", loaded.spec.path));
    } catch (const std::exception& error) {
      report(fmt::format("reload: {} is not loaded, and its last version stays: {}", loaded.spec.path, error.what()));
    }
  }
  if (const std::string error = pivot_error(); !error.empty()) report("reload: " + error);
}

void ModelRegistry::drain() {
  for (const auto& model : languages()->models()) model->service->drain();
}

ClientQueue::Load ModelRegistry::load() const {
  ClientQueue::Load sum;
  for (const auto& model : languages()->models()) {
    const ClientQueue::Load load = model->service->load();
    sum.calls += load.calls;
    sum.waiting_calls += load.waiting_calls;
    sum.waiting_parts += load.waiting_parts;
    sum.running_parts += load.running_parts;
    sum.tokens += load.tokens;
  }
  return sum;
}

void ModelRegistry::load_model(LoadedModel& loaded) const {
  // The revision is read first: files that change meanwhile are loaded again by the next reload().
  std::string revision = loader_.revision(loaded.spec);
  auto model = loader_.load(loaded.spec);
  check(has_two_languages(*model), "server: --model {} translates no language into another one, needs two languages",
        loaded.spec.path);
  loaded.model = std::move(model);
  loaded.revision = std::move(revision);
}

void ModelRegistry::check_pairs(const ModelSpec& spec) const {
  for (const LoadedModel& loaded : loaded_) {
    for (const std::string& source : spec.sources) {
      for (const std::string& target : spec.targets) {
        check(!names_pair(loaded.spec, source, target),
              "server: {}-{} is given twice, with {} and with {}, needs one model", source, target, loaded.spec.path,
              spec.path);
      }
    }
  }
}

std::string ModelRegistry::pivot_error() const {
  if (pivot_.empty() || languages()->find_code(pivot_)) return {};
  return fmt::format("server.pivot is {}, which no model has, needs a language of the models",
                     quote_unless_plain(pivot_));
}

void ModelRegistry::publish() {
  std::vector<std::shared_ptr<ServedModel>> models;
  for (const LoadedModel& loaded : loaded_) models.push_back(loaded.model);
  auto languages = std::make_shared<const ServedLanguages>(std::move(models), pivot_);
  // The old languages, and with them perhaps a model, are destroyed after the lock is released.
  const std::lock_guard lock(mutex_);
  languages_.swap(languages);
}

}  // namespace edgewise
