// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/base/error.h"
#include "tests/server/certificate.h"

namespace edgewise {

/// A client that speaks TLS and trusts every certificate. Each read ends after ten seconds.
class TlsClient {
 public:
  /// Shakes hands with a protocol from `oldest` to `newest`, numbers of OpenSSL such as TLS1_2_VERSION; 0: any.
  explicit TlsClient(std::uint16_t port, int oldest = 0, int newest = 0)
      : context_(SSL_CTX_new(TLS_client_method())), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the server has closed
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval time{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
    SSL_CTX_set_security_level(context_.get(), 0);  // higher levels forbid TLS 1.0 and 1.1 on the side of the client
    SSL_CTX_set_min_proto_version(context_.get(), oldest);
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), socket_);
    is_connected_ = SSL_connect(tls_.get()) == 1;
  }
  ~TlsClient() { close(); }

  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool is_connected() const { return is_connected_; }
  std::string protocol() const { return SSL_get_version(tls_.get()); }
  /// Returns the number of certificates that the server sent.
  int num_certificates() const { return sk_X509_num(SSL_get_peer_cert_chain(tls_.get())); }

  void send(std::string_view bytes) { SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())); }

  /// Reads until `end` arrives or the connection ends.
  std::string read_until(std::string_view end) {
    while (received_.find(end) == std::string::npos && read_some()) {
    }
    const std::size_t found = received_.find(end);
    return take(found == std::string::npos ? received_.size() : found + end.size());
  }

  /// Reads a response whose head has Content-Length.
  std::string read_response() {
    constexpr std::string_view kField = "Content-Length: ";
    const std::string head = read_until("\r\n\r\n");
    const std::size_t field = head.find(kField);
    if (field == std::string::npos) return head;
    const std::size_t size = std::stoul(head.substr(field + kField.size()));
    while (received_.size() < size && read_some()) {
    }
    return head + take(std::min(size, received_.size()));
  }

  std::string ask(std::string_view request) {
    send(request);
    return read_response();
  }

  /// Returns whether the server ends the connection as TLS demands, so that the client knows that nothing is missing.
  bool is_ended_by_server() {
    while (read_some()) {
    }
    return (SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

  /// Closes the socket, without a word to the server.
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  bool read_some() {
    std::array<char, 4096> bytes{};
    const int size = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (size > 0) received_.append(bytes.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  std::string take(std::size_t size) {
    std::string text = received_.substr(0, size);
    received_.erase(0, size);
    return text;
  }

  std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, OpenSslFree<SSL_free>> tls_;
  int socket_;
  bool is_connected_ = false;
  std::string received_;
};

}  // namespace edgewise
