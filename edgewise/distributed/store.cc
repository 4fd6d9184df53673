// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr milliseconds kFirstRetryPause{20};
constexpr milliseconds kLongestRetryPause{1000};
constexpr int kWaitingConnections = 4096;

milliseconds time_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(0));
}

/// Sets `error` to a text if the list is empty. Knows localhost also where no hosts file does (RFC 6761, section 6.3).
AddressList resolve(const std::string& address, int port, std::string& error) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const std::string service = std::to_string(port);
  int code = ::getaddrinfo(address.c_str(), service.c_str(), &hints, &first);
  if (code != 0 && address == "localhost") code = ::getaddrinfo(nullptr, service.c_str(), &hints, &first);
  if (code != 0) error = code == EAI_SYSTEM ? error_text(errno) : ::gai_strerror(code);
  return {code == 0 ? first : nullptr, &::freeaddrinfo};
}

std::string numeric(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
  return text.data();
}

ConnectionEnds ends_of(const FileDescriptor& socket) {
  sockaddr_storage here = {};
  sockaddr_storage there = {};
  socklen_t here_size = sizeof(here);
  socklen_t there_size = sizeof(there);
  ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&here), &here_size);
  ::getpeername(socket.number(), reinterpret_cast<sockaddr*>(&there), &there_size);
  return {numeric(here, here_size), numeric(there, there_size)};
}

/// Returns 0 or an errno value.
int finish_connecting(const FileDescriptor& socket, Clock::time_point deadline) {
  pollfd waiting = {socket.number(), POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(std::min(time_until(deadline), milliseconds(1 << 30)).count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int connect_to(const addrinfo& address, Clock::time_point deadline, ConnectionEnds& ends) {
  const FileDescriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket.is_open()) return errno;
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (const int error = finish_connecting(socket, deadline); error != 0) return error;
  }
  ends = ends_of(socket);
  return 0;
}

/// Tries each address of the host once. Returns an error, or "".
std::string try_connect(const std::string& address, int port, Clock::time_point deadline, ConnectionEnds& ends) {
  std::string error;
  const AddressList addresses = resolve(address, port, error);
  for (const addrinfo* next = addresses.get(); next != nullptr; next = next->ai_next) {
    const int code = connect_to(*next, deadline, ends);
    if (code == 0) return {};
    error = error_text(code);
  }
  return error;
}

/// Returns 0 or an errno value.
int try_listen(const sockaddr* address, socklen_t size, FileDescriptor& listener) {
  listener = FileDescriptor(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return errno;
  const int on = 1;
  const int off = 0;
  ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->sa_family == AF_INET6) ::setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(listener.number(), address, size) != 0) return errno;
  return ::listen(listener.number(), kWaitingConnections) == 0 ? 0 : errno;
}

int listen_everywhere(int port, FileDescriptor& listener) {
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  const int error = try_listen(reinterpret_cast<const sockaddr*>(&six), sizeof(six), listener);
  if (error == 0 || error == EADDRINUSE || error == EACCES) return error;
  sockaddr_in four = {};  // for a system without IPv6
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(port));
  return try_listen(reinterpret_cast<const sockaddr*>(&four), sizeof(four), listener);
}

/// Whether a numeric IP address leads to this machine itself.
bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

}  // namespace

std::string address_of(std::int64_t rank, const std::vector<ConnectionEnds>& all) {
  const std::string& here = all[static_cast<std::size_t>(rank)].here;
  if (!is_loopback(here)) return here;
  const auto other = std::find_if(all.begin(), all.end(), [](const auto& ends) { return !is_loopback(ends.here); });
  return other == all.end() ? here : other->there;
}

ConnectionEnds reach_store(const std::string& address, int port, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  ConnectionEnds ends;
  for (milliseconds pause = kFirstRetryPause;; pause = std::min(2 * pause, kLongestRetryPause)) {
    const std::string error = try_connect(address, port, deadline, ends);
    if (error.empty()) return ends;
    const milliseconds left = time_until(deadline);
    check(left.count() > 0,
          "connect_processes: the store at {}:{} cannot be reached within {:g} s, needs a process 0 that serves it; {}",
          address, port, std::chrono::duration<double>(timeout).count(), error);
    std::this_thread::sleep_for(std::min(pause, left));
  }
}

FileDescriptor listen_for_store(const std::string& address, int port, bool is_local) {
  std::string unknown_host;
  FileDescriptor listener(-1);
  const AddressList addresses = resolve(address, port, unknown_host);
  sockaddr_storage first = {};
  if (addresses)
    std::copy_n(reinterpret_cast<const char*>(addresses->ai_addr), addresses->ai_addrlen,
                reinterpret_cast<char*>(&first));
  const bool is_private = is_local && addresses && is_loopback(numeric(first, addresses->ai_addrlen));
  const int error =
      is_private ? try_listen(addresses->ai_addr, addresses->ai_addrlen, listener) : listen_everywhere(port, listener);
  check(error == 0, "connect_processes: process 0 cannot listen at port {}, needs a free port; {}", port,
        error_text(error));
  return listener;
}

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

c10::intrusive_ptr<c10d::Store> open_store(const StoreOptions& options) {
  c10d::TCPStoreOptions tcp;
  tcp.port = static_cast<std::uint16_t>(options.port);
  tcp.waitWorkers = false;
  tcp.timeout = options.timeout;
  if (options.listener != nullptr) {
    tcp.isServer = true;
    // The store closes its socket, and the caller closes the listener.
    tcp.masterListenFd = ::fcntl(options.listener->number(), F_DUPFD_CLOEXEC, 0);
  }
  return c10::make_intrusive<c10d::PrefixStore>(options.prefix,
                                                c10::make_intrusive<c10d::TCPStore>(options.address, tcp));
}

}  // namespace edgewise
