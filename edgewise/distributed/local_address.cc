// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/local_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/base/file_descriptor.h"

namespace edgewise {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), "1", &hints, &first);
  check(error == 0, "local_address_towards: host {} is not known ({}), needs the address of a machine", host,
        ::gai_strerror(error));
  return {first, &::freeaddrinfo};
}

}  // namespace

// Connecting a UDP socket sends nothing, and chooses the interface by the routing table.
std::string local_address_towards(const std::string& host) {
  const AddressList addresses = resolve(host);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const FileDescriptor socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open() || ::connect(socket.number(), address->ai_addr, address->ai_addrlen) != 0) continue;
    sockaddr_storage local = {};
    socklen_t size = sizeof(local);
    if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&local), &size) != 0) continue;
    std::array<char, NI_MAXHOST> name = {};
    const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&local), size, name.data(), name.size(), nullptr,
                                    0, NI_NUMERICHOST);
    if (error == 0) return name.data();
  }
  fail("local_address_towards: host {} cannot be reached ({}), needs a network interface towards it", host,
       std::strerror(errno));
}

}  // namespace edgewise
