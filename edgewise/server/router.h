// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/server/api_keys.h"
#include "edgewise/server/http.h"
#include "edgewise/server/language_models.h"
#include "edgewise/server/metrics.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/server_config.h"

namespace edgewise {

/// Options, models, logs and metrics, which the interfaces of a server share. The object must outlive all requests.
struct ServerState {
  ServerOptions options;
  ModelRegistry& models;
  LanguageModels& language_models;
  std::function<void(std::string_view line)> log = {};  // receives errors; threads may call it at the same time
  Metrics metrics = {};
  ApiKeys keys = ApiKeys(options.api_keys, options.require_api_key);
  std::atomic<std::int64_t> deepl_characters = 0;  // characters of texts that DeepL's interface has translated
  std::atomic<bool> is_draining = false;           // whether the server is about to end and takes no more texts
};

/// Writes the body of an error with a status as an interface writes it, in JSON.
using ErrorBody = std::string (*)(int status, std::string_view message);

/// `{"error": message}`.
std::string error_body(int status, std::string_view message);

/// Passes requests to the handlers of their paths.
///
/// A path that no handler has gets status 404, and another method 405 with `Allow`; HEAD is the same as GET, and the
/// connection must leave out the body; OPTIONS is answered for all paths. An Error of a handler gets its status
/// (RequestError) and any other exception 500; StopException, because the client is gone, gets no response.
class Router {
 public:
  explicit Router(ServerState& state) : state_(state) {}

  /// Answers a request, in this thread.
  using Handler = std::function<void(ServerState& state, HttpExchange& exchange)>;

  /// Adds the handler of a path and a method, GET or POST.
  void add(const std::string& method, const std::string& path, Handler handler, ErrorBody error = error_body);

  /// The methods of each path.
  std::map<std::string, std::vector<std::string>> endpoints() const;

  /// Answers a request. The handlers must not be added meanwhile.
  void handle(const std::shared_ptr<HttpExchange>& exchange);

  /// Returns the path if it has a handler, or else a word for all other paths: for metrics and logs, which must not
  /// have text of users.
  std::string_view endpoint(std::string_view path) const;

 private:
  struct Endpoint {
    Handler handler;
    ErrorBody error;
  };
  using Methods = std::map<std::string, Endpoint, std::less<>>;

  void run(const std::shared_ptr<HttpExchange>& exchange, const Endpoint& endpoint);

  ServerState& state_;
  std::map<std::string, Methods, std::less<>> paths_;
};

}  // namespace edgewise
