// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_streams.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace edgewise {

bool is_closed_by_peer(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) return info.tcpi_state != TCP_ESTABLISHED;
  char byte = 0;  // a Unix socket
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace edgewise
