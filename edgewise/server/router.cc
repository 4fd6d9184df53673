// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/router.h"

#include <exception>
#include <utility>

#include "edgewise/base/files/json.h"
#include "edgewise/base/stop_request.h"

namespace edgewise {

std::string error_body(int /*status*/, std::string_view message) { return JsonObject().add("error", message).text(); }

void Router::add(const std::string& method, const std::string& path, Handler handler, ErrorBody error) {
  paths_[path][method] = {std::move(handler), error};
}

std::map<std::string, std::vector<std::string>> Router::endpoints() const {
  std::map<std::string, std::vector<std::string>> endpoints;
  for (const auto& [path, methods] : paths_) {
    for (const auto& [method, endpoint] : methods) endpoints[path].push_back(method);
  }
  return endpoints;
}

void Router::handle(const std::shared_ptr<HttpExchange>& exchange) {
  const Metrics::RunningRequest running(state_.metrics);
  const auto path = paths_.find(exchange->request().path);
  if (path == paths_.end()) return exchange->respond({.status = 404, .body = error_body(404, "Not Found")});
  const Methods& methods = path->second;
  std::string allowed = "OPTIONS";
  for (const auto& [method, endpoint] : methods) allowed += method == "GET" ? ", GET, HEAD" : ", " + method;
  const std::string& method = exchange->request().method;
  if (method == "OPTIONS") {
    return exchange->respond({.status = 204, .content_type = "", .headers = {{"Allow", allowed}}});
  }
  const auto found = methods.find(method == "HEAD" ? "GET" : method);
  if (found == methods.end()) {
    const ErrorBody error = methods.begin()->second.error;
    return exchange->respond(
        {.status = 405, .body = error(405, "Method Not Allowed"), .headers = {{"Allow", allowed}}});
  }
  run(exchange, found->second);
}

std::string_view Router::endpoint(std::string_view path) const {
  const auto found = paths_.find(path);
  return found == paths_.end() ? "other" : std::string_view(found->first);
}

void Router::run(const std::shared_ptr<HttpExchange>& exchange, const Endpoint& endpoint) {
  const auto respond = [&](int status, std::string_view message, const std::vector<HttpHeader>& headers = {}) {
    exchange->respond({.status = status, .body = endpoint.error(status, message), .headers = headers});
  };
  try {
    endpoint.handler(state_, *exchange);
  } catch (const StopException&) {
    return;
  } catch (const RequestError& error) {
    respond(error.status(), error.what(), error.headers());
  } catch (const Error& error) {
    respond(400, error.what());
  } catch (const std::exception& error) {
    if (state_.log) state_.log(fmt::format("{}: {}", exchange->request().path, error.what()));
    respond(500, "Internal Server Error");
  }
}

}  // namespace edgewise
