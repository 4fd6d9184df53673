// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "edgewise/server/http_connection.h"

namespace edgewise {

/// Receives a new connection and the address of the other side, empty for a Unix socket.
using AcceptFunction = std::function<void(HttpSocket socket, const std::string& peer)>;

/// Listens on an address. The functions run in the thread of the io_context.
class HttpListener {
 public:
  virtual ~HttpListener() = default;
  virtual void start(AcceptFunction accept) = 0;
  /// Accepts the connections that wait, and no more.
  virtual void close() = 0;
  /// Returns the port; 0 for a Unix socket.
  virtual std::uint16_t port() const = 0;
};

/// Listens on ADDRESS:PORT, [IPV6]:PORT or unix:PATH; or on the descriptor `socket`, which listens already, unless it
/// is -1. The socket file of a server that has ended is replaced. Throws Error if the address is malformed or in use.
std::unique_ptr<HttpListener> listen(boost::asio::io_context& io, const std::string& address, int socket);

}  // namespace edgewise
