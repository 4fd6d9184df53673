// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/translation_server.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/http.h"
#include "edgewise/server/router.h"
#include "edgewise/server/served_model.h"

namespace edgewise {
namespace {

/// Returns the loader of the models of a server: model directories, translated with `translator`, with the queue and as
/// many outputs as `server` says.
ModelLoader make_model_loader(const TranslatorOptions& translator, const ServerOptions& server) {
  TranslatorOptions options = translator;
  options.max_pending_tokens = server.queue_tokens;
  const std::int64_t max_outputs = server.alternatives + 1;
  ModelLoader loader{.revision = model_revision, .load = [options, max_outputs](const ModelSpec& spec) {
                       return load_served_model(spec, options, max_outputs);
                     }};
  if (!server.models_folder.empty()) {
    loader.list = [folder = server.models_folder] { return list_models(folder); };
  }
  return loader;
}

/// Lets a server with language models have no other model.
ModelLoader with_optional_models(ModelLoader loader, const ServerOptions& server) {
  if (!loader.list && !server.language_models.empty() && server.models.empty() && server.pivot.empty()) {
    loader.list = [] { return std::vector<ModelSpec>(); };
  }
  return loader;
}

constexpr int kClientIsGone = 499;  // nginx's number for a request whose client hung up; only in logs and metrics

/// The handlers of requests know better how to end a late request than the connection, which is the second to do so.
constexpr double kSecondsAfterHandlers = 5;

std::vector<ModelSpec> parse_specs(const std::vector<std::string>& texts) {
  std::vector<ModelSpec> specs;
  specs.reserve(texts.size());
  for (const std::string& text : texts) specs.push_back(parse_model_spec(text));
  return specs;
}

HttpServerOptions http_options(const ServerConfig& config) {
  HttpServerOptions options = config.http;
  options.request_seconds = config.server.request_seconds + kSecondsAfterHandlers;
  return options;
}

}  // namespace

class TranslationServer::Implementation {
 public:
  Implementation(const ServerConfig& config, ServerLogs logs, ModelLoader loader, LanguageModelLoader language_loader)
      : config_(config),
        logs_(std::move(logs)),
        models_(parse_specs(config.server.models), with_optional_models(std::move(loader), config.server),
                config.server.pivot, logs_.report),
        language_models_(config.server.language_models, std::move(language_loader)),
        state_{.options = config.server, .models = models_, .language_models = language_models_, .log = logs_.report},
        router_(state_) {
    add_libretranslate(router_);
    add_deepl(router_);
    add_native(router_);
    add_completions(router_);
    add_operation(router_);
    add_page(router_);
    http_.emplace(http_options(config),
                  HttpHandlers{.answer = [this](const auto& exchange) { router_.handle(exchange); },
                               .is_probe = is_probe,
                               .headers = cors_headers(config.server.cors_origin),
                               .record = [this](const HttpRecord& record) { count(record); },
                               .report = logs_.report});
  }

  std::uint16_t port() const { return http_->port(); }

  void reload(const std::optional<ServerConfig>& config) {
    if (config) try_reload("the API keys stay as they were", [&] { reload_config(*config); });
    try_reload("the certificate stays as it was", [&] {
      if (http_->reload_certificate()) report("reload: new connections get the new certificate");
    });
    models_.reload([this](std::string_view line) { report(line); });
    language_models_.reload([this](std::string_view line) { report(line); });
  }

  std::int64_t drain() {
    state_.is_draining = true;
    return http_->drain(state_.options.drain_seconds) ? 0 : http_->load().connections;
  }

 private:
  void report(std::string_view line) const {
    if (logs_.report) logs_.report(line);
  }

  template <class Reload>
  void try_reload(std::string_view otherwise, Reload reload) const {
    try {
      reload();
    } catch (const std::exception& error) {
      report(fmt::format("reload: {}: {}", otherwise, error.what()));
    }
  }

  void reload_config(const ServerConfig& config) {
    check_server_config(config);
    const std::lock_guard lock(reload_mutex_);
    const auto before = settings_of(config_);
    const auto now = settings_of(config);
    bool has_new_keys = false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] == before[i]) continue;
      const std::string& name = now[i].first;
      const bool is_key = name == "server.api_keys" || name == "server.require_api_key";
      if (!is_key) report(fmt::format("reload: {} needs a new start", name));
      has_new_keys = has_new_keys || is_key;
    }
    if (!has_new_keys) return;
    const ServerOptions& options = config.server;
    state_.keys.replace(options.api_keys, options.require_api_key);
    config_.server.api_keys = options.api_keys;
    config_.server.require_api_key = options.require_api_key;
    report("reload: the API keys are replaced");
  }

  void count(const HttpRecord& record) {
    HttpRecord counted = record;
    if (counted.was_abandoned) counted.status = kClientIsGone;
    const std::string_view endpoint = router_.endpoint(record.path);
    state_.metrics.count_response(endpoint, counted.status, counted.seconds);
    if (logs_.access && state_.options.access_log) logs_.access(access_log_line(counted, endpoint));
  }

  std::mutex reload_mutex_;
  ServerConfig config_;  // the config of the start, with the keys of the last reload
  ServerLogs logs_;
  ModelRegistry models_;
  LanguageModels language_models_;
  ServerState state_;
  Router router_;
  std::optional<HttpServer> http_;  // destroyed first: its threads use all others
};

TranslationServer::TranslationServer(const ServerConfig& config, ServerLogs logs)
    : TranslationServer(config, std::move(logs), make_model_loader(config.translation.translator, config.server),
                        make_language_model_loader(config.generation, config.server.queue_tokens)) {}

TranslationServer::TranslationServer(const ServerConfig& config, ServerLogs logs, ModelLoader loader,
                                     LanguageModelLoader language_loader) {
  check_server_config(config);
  implementation_ =
      std::make_unique<Implementation>(config, std::move(logs), std::move(loader), std::move(language_loader));
}

TranslationServer::~TranslationServer() = default;

std::uint16_t TranslationServer::port() const { return implementation_->port(); }

void TranslationServer::reload(const std::optional<ServerConfig>& config) { implementation_->reload(config); }

std::int64_t TranslationServer::drain() { return implementation_->drain(); }

}  // namespace edgewise
