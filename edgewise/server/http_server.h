// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/server/http.h"
#include "edgewise/server/http_options.h"

namespace edgewise {

/// A request that has been answered, for logs and metrics.
struct HttpRecord {
  std::string client = {};
  std::string method = {};
  std::string path = {};
  int status = 0;
  std::int64_t request_bytes = 0;   // size of the body
  std::int64_t response_bytes = 0;  // size of the body
  double seconds = 0;               // from the whole request to the whole response
  bool was_abandoned = false;       // whether the connection ended before
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

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

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
