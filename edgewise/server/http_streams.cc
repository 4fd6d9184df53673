// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_streams.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>

namespace edgewise {

namespace net = boost::asio;

void async_read_bytes(PlainStream& stream, net::mutable_buffer buffer, HttpBytesHandler done) {
  stream.async_read_some(buffer, std::move(done));
}

void async_read_bytes(TlsStream& stream, net::mutable_buffer buffer, HttpBytesHandler done) {
  stream.async_read_some(buffer, std::move(done));
}

void async_write_bytes(PlainStream& stream, std::string_view bytes, HttpBytesHandler done) {
  net::async_write(stream, net::buffer(bytes), std::move(done));
}

void async_write_bytes(TlsStream& stream, std::string_view bytes, HttpBytesHandler done) {
  net::async_write(stream, net::buffer(bytes), std::move(done));
}

bool is_closed_by_peer(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) return info.tcpi_state != TCP_ESTABLISHED;
  char byte = 0;  // a Unix socket
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace edgewise
