// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_shared.h"

#include <algorithm>

namespace edgewise {

void HttpShared::add(ClosableConnection* connection, const std::string& client) {
  connections.insert(connection);
  ++connections_by_client[client];
  const std::lock_guard lock(mutex);
  num_connections = std::ssize(connections);
}

void HttpShared::remove(ClosableConnection* connection, const std::string& client) {
  connections.erase(connection);
  const auto found = connections_by_client.find(client);
  if (--found->second == 0) connections_by_client.erase(found);
  const std::lock_guard lock(mutex);
  num_connections = std::ssize(connections);
  changed.notify_all();
}

std::int64_t HttpShared::surplus_connections(const std::string& client) const {
  const std::int64_t surplus = std::ssize(connections) - options.max_connections;
  const auto found = connections_by_client.find(client);
  if (found == connections_by_client.end() || proxies.trust(client)) return surplus;
  return std::max(surplus, found->second - options.max_connections_per_client);
}

}  // namespace edgewise
