// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/router.h"

#include <chrono>
#include <exception>
#include <utility>

#include "edgewise/base/json.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/server/access_log.h"
#include "edgewise/server/observed_exchange.h"
#include "edgewise/server/request_error.h"

namespace edgewise {
namespace {

constexpr int kClientIsGone = 499;  // nginx's number for a request whose client hung up; only in logs and metrics
constexpr std::string_view kOtherPaths = "other";

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<HttpHeader> cors_headers(const std::string& origin) {
  if (origin.empty()) return {};
  return {{"Access-Control-Allow-Origin", origin},
          {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
          {"Access-Control-Expose-Headers", "Authorization"},
          {"Access-Control-Allow-Methods", "GET, POST"},
          {"Access-Control-Max-Age", "1728000"}};
}

}  // namespace

std::string error_body(std::string_view message) { return JsonObject().add("error", message).text(); }

void Router::add(const std::string& method, const std::string& path, HttpHandler handler, ErrorBody error) {
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
  const auto begin = std::chrono::steady_clock::now();
  const auto observed = std::make_shared<ObservedExchange>(exchange, cors_headers(state_.options.cors_origin));
  const auto found = paths_.find(exchange->request().path);
  const std::string_view endpoint = found == paths_.end() ? kOtherPaths : std::string_view(found->first);
  dispatch(observed, found == paths_.end() ? nullptr : &found->second);

  const int status = observed->status() == 0 ? kClientIsGone : observed->status();
  const double seconds = seconds_since(begin);
  state_.metrics.count_response(endpoint, status, seconds);
  if (!state_.access_log) return;
  state_.access_log(
      access_log_line(exchange->request(),
                      {.endpoint = endpoint, .status = status, .bytes = observed->num_bytes(), .seconds = seconds}));
}

void Router::dispatch(const std::shared_ptr<HttpExchange>& exchange, const Methods* methods) {
  if (methods == nullptr) {
    return exchange->respond({.status = 404, .body = error_body("Not Found")});
  }
  std::string allowed = "OPTIONS";
  for (const auto& [method, endpoint] : *methods) allowed += method == "GET" ? ", GET, HEAD" : ", " + method;
  const std::string& method = exchange->request().method;
  if (method == "OPTIONS") {
    return exchange->respond({.status = 204, .content_type = "", .headers = {{"Allow", allowed}}});
  }
  const auto found = methods->find(method == "HEAD" ? "GET" : method);
  if (found == methods->end()) {
    const ErrorBody error = methods->begin()->second.error;
    return exchange->respond({.status = 405, .body = error("Method Not Allowed"), .headers = {{"Allow", allowed}}});
  }
  run(exchange, found->second);
}

void Router::run(const std::shared_ptr<HttpExchange>& exchange, const Endpoint& endpoint) {
  const auto respond = [&](int status, std::string_view message, const std::vector<HttpHeader>& headers = {}) {
    exchange->respond({.status = status, .body = endpoint.error(message), .headers = headers});
  };
  try {
    endpoint.handler(exchange);
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
