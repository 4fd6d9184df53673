// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstdint>

namespace edgewise {

using PlainStream = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
using TlsStream = boost::beast::ssl_stream<PlainStream>;

inline std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// Returns whether the other side has closed a connection, whatever bytes wait to be read.
bool is_closed_by_peer(int socket);

}  // namespace edgewise
