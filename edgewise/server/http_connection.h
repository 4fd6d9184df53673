// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "edgewise/server/http_shared.h"

namespace edgewise {

using HttpSocket = boost::asio::generic::stream_protocol::socket;

/// Serves the requests of a connection, one after another, until it closes. `peer` is the address of the other side,
/// empty for a Unix socket. With `tls`, the connection is encrypted. Runs in the thread of the connections.
void serve_connection(HttpSocket socket, const std::string& peer, HttpShared& shared,
                      const std::shared_ptr<boost::asio::ssl::context>& tls);

}  // namespace edgewise
