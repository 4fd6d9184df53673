// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace edgewise {

using PlainStream = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
using TlsStream = boost::beast::ssl_stream<PlainStream>;

/// Is called once, with the number of bytes that were read or written.
using HttpBytesHandler = std::function<void(boost::beast::error_code error, std::size_t bytes)>;

// Functions, and not templates of the handler: the compiler takes seconds for each combination of stream and handler.

/// Reads at least one byte, unless there is an error.
void async_read_bytes(PlainStream& stream, boost::asio::mutable_buffer buffer, HttpBytesHandler done);
void async_read_bytes(TlsStream& stream, boost::asio::mutable_buffer buffer, HttpBytesHandler done);

/// Writes all bytes, which must exist until the call.
void async_write_bytes(PlainStream& stream, std::string_view bytes, HttpBytesHandler done);
void async_write_bytes(TlsStream& stream, std::string_view bytes, HttpBytesHandler done);

inline std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// Returns whether the other side has closed a connection, whatever bytes wait to be read.
bool is_closed_by_peer(int socket);

}  // namespace edgewise
