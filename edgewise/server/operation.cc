// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "edgewise/base/files/json.h"
#include "edgewise/base/version.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/http.h"
#include "edgewise/server/served_files.h"

namespace edgewise {
namespace {

std::string status_json(std::string_view status) { return JsonObject().add("status", status).text(); }

void handle_ready(ServerState& state, HttpExchange& exchange) {
  const std::vector<HttpHeader> retry = {{"Retry-After", "1"}};
  if (state.is_draining) throw RequestError(503, "the server is about to end", retry);
  const auto languages = state.models.languages();
  const auto language_models = state.language_models.models();
  if (languages->models().empty() && language_models.empty()) {
    throw RequestError(503, "the server has no model", retry);
  }
  for (const auto& model : languages->models()) {
    if (model->service->has_device_failed()) throw RequestError(503, "a GPU has failed; start the server again", retry);
    const ClientQueue::Load load = model->service->load();
    if (load.tokens >= state.options.queue_tokens) throw RequestError(503, "a queue is full", retry);
  }
  for (const auto& model : language_models) {
    if (model->service->load().tokens < state.options.queue_tokens) continue;
    throw RequestError(503, "a queue is full", retry);
  }
  exchange.respond({.body = status_json("ok")});
}

void handle_metrics(ServerState& state, HttpExchange& exchange) {
  std::vector<std::string> models;
  for (const auto& model : state.models.languages()->models()) models.push_back(model->path);
  for (const auto& model : state.language_models.models()) models.push_back(model->path);
  ClientQueue::Load load = state.models.load();
  const GenerationService::Load generation = state.language_models.load();
  load.waiting_parts += generation.waiting;
  load.running_parts += generation.running;
  load.tokens += generation.tokens;
  exchange.respond(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = state.metrics.text(load, models)});
}

void replace_all(std::string& text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
    text.replace(at, name.size(), value);
  }
}

/// Returns a regular expression of the numbers up to `most`, as a client may write them.
std::string alternatives_pattern(std::int64_t most) {
  std::string numbers = "0";
  for (std::int64_t number = 1; number <= most; ++number) numbers += fmt::format("|{}", number);
  return fmt::format("^(-[0-9]+|0*({}))$", numbers);
}

/// Returns openapi.json with the version of this build and the limits of this server.
std::string openapi_text(const ServerOptions& options) {
  std::string text(server_files().front().text);
  replace_all(text, R"("VERSION")", quote_json(version()));
  replace_all(text, R"("CHARACTERS")", std::to_string(options.characters));
  replace_all(text, R"("TEXTS")", std::to_string(options.texts));
  replace_all(text, R"("COMPLETION_TOKENS")", std::to_string(options.completion_tokens));
  replace_all(text, R"("ALTERNATIVES")", std::to_string(options.alternatives));
  replace_all(text, "ALTERNATIVES_PATTERN", alternatives_pattern(options.alternatives));
  return text;
}

/// Browsers get a page, programs JSON.
void handle_spec(ServerState& state, HttpExchange& exchange) {
  const std::string accepted = exchange.request().header("Accept").value_or("");
  if (accepted.find("text/html") != std::string::npos) return respond_docs(exchange);
  exchange.respond({.body = openapi_text(state.options), .headers = {{"Vary", "Accept"}}});
}

}  // namespace

bool is_probe(const HttpRequest& request) {
  return request.path == "/health" || request.path == "/ready" || request.path == "/metrics";
}

void add_operation(Router& router) {
  router.add("GET", "/health",
             [](ServerState&, HttpExchange& exchange) { exchange.respond({.body = status_json("ok")}); });
  router.add("GET", "/spec", handle_spec);
  router.add("GET", "/ready", handle_ready);
  router.add("GET", "/metrics", handle_metrics);
}

}  // namespace edgewise
