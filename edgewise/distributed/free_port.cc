// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/free_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {

int find_free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  check(socket.is_open() && ::bind(socket.number(), general, size) == 0 &&
            ::getsockname(socket.number(), general, &size) == 0,
        "find_free_port: no port of this machine can be had ({}), needs one", std::strerror(errno));
  return ntohs(address.sin_port);
}

}  // namespace edgewise
