// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

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

/// The end of a connection: ends sending, and reads a little of what the client still sends. Closing at once would
/// reset the connection, and the client might lose the response.
template <class Stream>
class HttpLinger : public std::enable_shared_from_this<HttpLinger<Stream>> {
 public:
  /// `owner` has the stream, and exists until the end.
  HttpLinger(Stream& stream, std::shared_ptr<void> owner) : stream_(stream), owner_(std::move(owner)) {}

  void start() {
    socket_stream().expires_after(kTime);
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      stream_.async_shutdown([self = this->shared_from_this()](boost::beast::error_code) { self->end_sending(); });
    } else {
      end_sending();
    }
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1024} * 1024;
  static constexpr std::chrono::seconds kTime{2};

  PlainStream& socket_stream() { return boost::beast::get_lowest_layer(stream_); }

  void end_sending() {
    boost::beast::error_code ignored;
    socket_stream().socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    read();
  }

  void read() {
    async_read_bytes(socket_stream(), boost::asio::buffer(bytes_),
                     [self = this->shared_from_this()](boost::beast::error_code error, std::size_t size) {
                       self->num_bytes_ += size;
                       if (!error && self->num_bytes_ < kMaxBytes) self->read();
                     });
  }

  Stream& stream_;
  std::shared_ptr<void> owner_;
  std::array<char, 4096> bytes_{};
  std::size_t num_bytes_ = 0;
};

}  // namespace edgewise
