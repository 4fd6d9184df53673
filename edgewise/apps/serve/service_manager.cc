// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/serve/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {
namespace {

constexpr int kFirstDescriptor = 3;

std::int64_t number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  std::int64_t number = 0;
  return text != nullptr && parse_number(text, Range(), number) ? number : 0;
}

}  // namespace

std::optional<int> passed_socket() {
  if (number_in_environment("LISTEN_PID") != ::getpid()) return std::nullopt;
  const std::int64_t sockets = number_in_environment("LISTEN_FDS");
  check(sockets <= 1, "server: systemd passes {} sockets, needs one; name one ListenStream= in the socket unit",
        sockets);
  if (sockets < 1) return std::nullopt;
  ::fcntl(kFirstDescriptor, F_SETFD, FD_CLOEXEC);
  return kFirstDescriptor;
}

void notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  const std::string_view name(path);
  sockaddr_un address{};
  if (name.empty() || name.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path);
  if (name.front() == '@') address.sun_path[0] = '\0';  // a name of the abstract namespace
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ::sendto(socket.number(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
           size);
}

}  // namespace edgewise
