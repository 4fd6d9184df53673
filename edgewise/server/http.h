// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// HTTP as the services of the server see it: complete requests, and exchanges that answer them. http_server.h has the
// connections.

namespace edgewise {

struct HttpHeader {
  std::string name;
  std::string value;
};

/// A request with its whole body.
struct HttpRequest {
  std::string method = {};  // in upper case
  std::string path = {};    // without the query; percent-encoded
  std::string query = {};   // without `?`; percent-encoded
  std::vector<HttpHeader> headers = {};
  std::string body = {};
  std::string client = {};  // address of the client, for turns and limits

  /// Returns the value of the header of this name, whose case does not matter. The values of several lines are one list
  /// with commas (RFC 9110, section 5.3).
  std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<HttpHeader> headers = {};
};

/// Returns the time in the form of the header field Date.
std::string http_date(std::time_t time);

/// The answer to one request: respond(), or begin_stream(), any number of write(), and end_stream(). Threads may call
/// the functions; calls after the connection is gone have no effect.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual const HttpRequest& request() const = 0;

  virtual void respond(HttpResponse response) = 0;

  /// Sends the head of a response; its body follows piece by piece. head.body is empty.
  virtual void begin_stream(HttpResponse head) = 0;
  /// Never waits for the client. Returns false if the connection is gone.
  virtual bool write(std::string piece) = 0;
  virtual void end_stream() = 0;

  /// Calls `function` once when the client hangs up or the time for the request is over before the response is
  /// complete; at once if this has already happened. The function must return quickly, and may run in any thread.
  virtual void on_abandon(std::function<void()> function) = 0;
};

/// Answers a request, in this thread or later. An exception is answered with status 500 and is logged.
using HttpHandler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

}  // namespace edgewise
