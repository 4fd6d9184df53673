// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/operation.h"

#include <string>
#include <vector>

#include "edgewise/base/json.h"
#include "edgewise/base/version.h"
#include "edgewise/server/request_error.h"
#include "edgewise/server/server_files.h"

namespace edgewise {
namespace {

std::string status_json(std::string_view status) { return JsonObject().add("status", status).text(); }

void handle_ready(ServerState& state, HttpExchange& exchange) {
  if (state.is_draining) throw RequestError(503, "the server is about to end");
  for (const auto& model : state.models.languages()->models()) {
    const ClientQueue::Load load = model->service->load();
    if (load.tokens >= state.options.queue_tokens) throw RequestError(503, "a queue is full");
  }
  exchange.respond({.body = status_json("ok")});
}

void handle_metrics(ServerState& state, HttpExchange& exchange) {
  std::vector<std::string> models;
  for (const auto& model : state.models.languages()->models()) models.push_back(model->path);
  exchange.respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = state.metrics.text(state.models.load(), models)});
}

/// Returns openapi.json with the version of this build.
std::string openapi_text() {
  constexpr std::string_view kVersion = "VERSION";
  std::string text(server_files().front().text);
  return text.replace(text.find(kVersion), kVersion.size(), version());
}

}  // namespace

void add_operation(Router& router, ServerState& state) {
  router.add("GET", "/health", [](const auto& exchange) { exchange->respond({.body = status_json("ok")}); });
  router.add("GET", "/spec", [](const auto& exchange) { exchange->respond({.body = openapi_text()}); });
  router.add("GET", "/ready", [&state](const auto& exchange) { handle_ready(state, *exchange); });
  router.add("GET", "/metrics", [&state](const auto& exchange) { handle_metrics(state, *exchange); });
}

}  // namespace edgewise
