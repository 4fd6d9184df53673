// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/base/error.h"

namespace edgewise {

/// A client that sends bytes as they are, so that tests can send what no library would.
class RawClient {
 public:
  /// `from` is the address of the client, one of this machine.
  explicit RawClient(std::uint16_t port, const char* from = "127.0.0.1") : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::inet_addr(from);
    check(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "no such address");
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "no connection");
  }
  ~RawClient() { close(); }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Returns whether bytes of a response, or the end of the connection, wait to be read.
  bool has_response() const {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 1;
  }

  /// Reads until `end` arrives, the server closes the connection, or kTimeout has passed.
  std::string read_until(std::string_view end) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (received_.find(end) == std::string::npos && std::chrono::steady_clock::now() < deadline && read_some()) {
    }
    const std::size_t found = received_.find(end);
    const std::size_t size = found == std::string::npos ? received_.size() : found + end.size();
    std::string text = received_.substr(0, size);
    received_.erase(0, size);
    return text;
  }

  /// Reads a response whose head has Content-Length.
  std::string read_response() {
    std::string response = read_until("\r\n\r\n");
    const std::size_t field = response.find("Content-Length: ");
    if (field == std::string::npos) return response;
    const std::size_t size = std::stoul(response.substr(field + 16));
    while (received_.size() < size && read_some()) {
    }
    response += received_.substr(0, size);
    received_.erase(0, size);
    return response;
  }

  std::string ask(std::string_view request) {
    send(request);
    return read_response();
  }

  /// Returns everything until the server closes the connection.
  std::string read_all() { return read_until("\n\nno server sends this"); }

  bool is_closed() {
    while (read_some()) {
    }
    return is_closed_;
  }

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  static constexpr std::chrono::duration<int, std::milli> kTimeout = std::chrono::minutes(10);

  bool read_some() {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kTimeout.count()) != 1) return false;
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    is_closed_ = size <= 0;
    if (size > 0) received_.append(bytes.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  int socket_;
  std::string received_;
  bool is_closed_ = false;
};

}  // namespace edgewise
