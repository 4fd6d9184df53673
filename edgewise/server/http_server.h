// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/server/http.h"

namespace edgewise {

/// The section [http] of a server's config. The limits keep the memory of the connections below
/// max_connections · (max_head + max_body) + max_unsent, beside the answers that handlers are making, and end
/// connections that send or read too slowly.
struct HttpServerOptions {
  std::string listen = "127.0.0.1:5000";
  int socket = -1;  // a descriptor that listens already, as systemd passes it; -1: none

  std::int64_t max_connections = 1024;
  std::int64_t max_connections_per_client = 64;
  std::int64_t max_requests = 128;
  std::int64_t max_head = std::int64_t{16} * 1024;
  std::int64_t max_body = std::int64_t{1024} * 1024;
  std::int64_t max_unsent = std::int64_t{256} << 20;
  double idle_seconds = 60;
  double head_seconds = 10;
  double body_seconds = 30;
  double request_seconds = 65;  // from the whole request to the beginning of its response; 503 after it. The end of a
                                // response that is a stream may come write_seconds later
  double write_seconds = 30;
  std::vector<std::string> trusted_proxies = {};  // TrustedProxies
  std::string certificate = {};
  std::string key = {};

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    const Range bytes = at_least(1).at_most(1 << 30);
    const Range seconds = above(0).at_most(1e6);
    field("listen", self.listen, "ADDRESS:PORT, [IPV6]:PORT or unix:PATH; port 0: any free port");
    field("max_connections", self.max_connections, "connections at a time; one more gets status 429",
          at_least(1).at_most(1e6));
    field("max_connections_per_client", self.max_connections_per_client,
          "connections of one address, or network of 64 bits of IPv6, at a time", at_least(1).at_most(1e6));
    field(
        "max_requests", self.max_requests,
        "requests at a time, each in a thread; one more gets status 429, unless it is for /health, /ready or /metrics",
        at_least(1).at_most(1e4));
    field("max_head", self.max_head, "bytes of the head of a request", at_least(1024).at_most(1 << 20));
    field("max_body", self.max_body, "bytes of the body of a request", bytes);
    field(
        "max_unsent", self.max_unsent,
        "bytes of all answers that clients have not yet received; beyond, connections of the client with the most are "
        "closed",
        bytes);
    field("idle_seconds", self.idle_seconds, "time after which a connection without a request is closed", seconds);
    field("head_seconds", self.head_seconds, "time in which a client must send the head of a request", seconds);
    field("body_seconds", self.body_seconds, "time in which a client must send the body of a request", seconds);
    field(
        "write_seconds", self.write_seconds,
        "time in which a client must accept a response, or a piece of a stream; also the time for the rest of a stream "
        "after server.request_seconds",
        seconds);
    field("trusted_proxies", self.trusted_proxies,
          "addresses or networks, such as 10.0.0.0/8, of proxies whose X-Forwarded-For names the client");
    field("certificate", self.certificate, "PEM file with the certificate chain for TLS; empty: no TLS");
    field("key", self.key, "PEM file with the key of the certificate");
  }
};

struct HttpHandlers {
  HttpHandler answer;
  /// Returns whether a request is answered at once, in the thread of the connections, whatever the limits of
  /// connections and requests; may be empty. The answer must be quick.
  std::function<bool(const HttpRequest&)> is_probe = {};
  std::vector<HttpHeader> headers = {};  // headers of every response
  /// Called in the thread of the connections, so it must be quick.
  std::function<void(const HttpRecord&)> record = {};
  /// Receives the message of an exception of `answer`, or of another one, which closes its connection.
  std::function<void(const std::string&)> report = {};
};

/// An HTTP/1.1 server on Boost.Beast. Refuses requests whose framing is ambiguous (http_syntax.h): those with
/// Transfer-Encoding, several or malformed lengths, folded fields or no Host are answered with 4xx, and the connection
/// closes. Requests beyond the limits are answered at once with 413, 429 or 431.
class HttpServer {
 public:
  /// Listens, and starts the threads. Throws Error if the address is in use, a file of TLS cannot be read, or the
  /// system refuses a thread.
  HttpServer(const HttpServerOptions& options, HttpHandlers handlers);

  /// Closes all connections, and waits for the handlers.
  ~HttpServer();

  /// Returns the port of the socket; 0 for a Unix socket.
  std::uint16_t port() const;

  struct Load {
    std::int64_t connections = 0;
    std::int64_t requests = 0;  // in handlers
  };
  Load load() const;

  /// Reads the files of TLS again for new connections. Returns whether they have changed. Throws Error if they cannot
  /// be used; the old ones then stay.
  bool reload_certificate();

  /// Accepts no more connections, closes idle ones, and waits until all others are answered, at most for `seconds`.
  /// Returns whether all were.
  bool drain(double seconds);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace edgewise
