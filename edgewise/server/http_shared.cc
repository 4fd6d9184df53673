// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_shared.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/server/http.h"

namespace edgewise {

HandlerThreads::HandlerThreads(std::int64_t count) : work_(io_.get_executor()) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::optional<std::jthread> thread = try_start_thread([this] { io_.run(); });
    if (!thread) {
      io_.stop();
      fail(
          "server: http.max_requests is {}, but the system starts only {} threads for requests; {}, or choose a "
          "smaller http.max_requests",
          count, i, kRaiseProcessLimit);
    }
    threads_.push_back(std::move(*thread));
  }
}

HandlerThreads::~HandlerThreads() {
  io_.stop();
  join();
}

void HandlerThreads::join() {
  work_.reset();
  threads_.clear();
}

void HttpShared::answer(const std::shared_ptr<HttpExchange>& exchange) const {
  try {
    handlers.answer(exchange);
  } catch (const std::exception& error) {
    if (handlers.report) handlers.report(error.what());
    exchange->respond(error_response(500, "the server failed to answer"));
  }
}

void HttpShared::add(ClosableConnection* connection, const std::string& peer) {
  connections.insert(connection);
  ++connections_by_client[proxies.client_of(peer, "")];
  const std::lock_guard lock(mutex);
  num_connections = std::ssize(connections);
}

void HttpShared::remove(ClosableConnection* connection, const std::string& peer) {
  connections.erase(connection);
  const auto found = connections_by_client.find(proxies.client_of(peer, ""));
  if (--found->second == 0) connections_by_client.erase(found);
  const std::lock_guard lock(mutex);
  num_connections = std::ssize(connections);
  changed.notify_all();
}

std::int64_t HttpShared::surplus_connections(const std::string& peer) const {
  const std::int64_t surplus = std::ssize(connections) - options.max_connections;
  const auto found = connections_by_client.find(proxies.client_of(peer, ""));
  if (found == connections_by_client.end() || proxies.trust(peer)) return surplus;
  return std::max(surplus, found->second - options.max_connections_per_client);
}

void HttpShared::limit_unsent_bytes() {
  while (unsent_bytes > options.max_unsent && !connections.empty()) {
    std::map<std::string_view, std::int64_t> bytes_of;
    for (const ClosableConnection* connection : connections)
      bytes_of[connection->client()] += connection->unsent_bytes();
    const auto weight = [&](const ClosableConnection* connection) {
      return std::pair(bytes_of[connection->client()], connection->unsent_bytes());
    };
    ClosableConnection* largest = *std::ranges::max_element(connections, {}, weight);
    if (largest->unsent_bytes() == 0) return;
    largest->close();
  }
}

}  // namespace edgewise
