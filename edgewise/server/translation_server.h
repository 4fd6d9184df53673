// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "edgewise/server/http_server.h"
#include "edgewise/server/language_models.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/server_config.h"

namespace edgewise {

/// Receives lines without line feeds. Threads may call the functions at the same time; the functions must be quick.
struct ServerLogs {
  std::function<void(std::string_view line)> report = {};  // errors, and reloaded models
  std::function<void(std::string_view line)> access = {};  // JSON for each response (access_log_line)
};

/// A translation server: models behind HTTP with the interfaces of LibreTranslate and DeepL, and our own. Language
/// models have the interface of OpenAI's completions.
///
///     TranslationServer server({.server = {.models = {"en-de=runs/en-de"}}});
///     …
///     server.drain();
class TranslationServer {
 public:
  /// Loads the models, listens, and starts the threads. Throws Error for a config that contradicts itself, a model that
  /// cannot be loaded, and as HttpServer does.
  explicit TranslationServer(const ServerConfig& config, ServerLogs logs = {});

  /// Serves models that `loader` loads, and language models that `language_loader` loads.
  TranslationServer(const ServerConfig& config, ServerLogs logs, ModelLoader loader,
                    LanguageModelLoader language_loader = {});

  /// Closes all connections, and ends all requests.
  ~TranslationServer();

  /// Returns the port of the socket; 0 for a Unix socket.
  std::uint16_t port() const;

  /// Loads changed models as ModelRegistry::reload does, and reads the files of TLS again. With a config, its API keys
  /// replace those before. Reports a line for each change, for each error, and for each other option that differs from
  /// the config of the start and would need a new start.
  void reload(const std::optional<ServerConfig>& config = {});

  /// Refuses new connections and new texts, and waits until all requests are answered, at most server.drain_seconds.
  /// Returns the number of connections that remain.
  std::int64_t drain();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace edgewise
