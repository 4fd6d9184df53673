// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"

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

/// Returns a line of JSON, without a line feed: the time in UTC, the client's address, and the numbers of the response.
/// `endpoint` is a path of the server, or a word for all other paths. The line has no text of a user: no query, no
/// body, no key, and no path that the server does not have.
std::string access_log_line(const HttpRecord& record, std::string_view endpoint);

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

/// Returns an error in JSON as the clients of all interfaces read it: `error` for LibreTranslate's, `message` for
/// DeepL's. Statuses 429 and 503 have the header Retry-After.
HttpResponse error_response(int status, std::string_view text);

/// An Error that a client gets as a response with this status. Any other Error is answered with status 400.
class RequestError : public Error {
 public:
  RequestError(int status, const std::string& message, std::vector<HttpHeader> headers = {})
      : Error(message), status_(status), headers_(std::move(headers)) {}

  int status() const { return status_; }
  const std::vector<HttpHeader>& headers() const { return headers_; }

 private:
  int status_;
  std::vector<HttpHeader> headers_;
};

/// Returns the headers of all responses that let pages of an origin use the server (Fetch standard, CORS protocol);
/// none for an empty origin.
std::vector<HttpHeader> cors_headers(const std::string& origin);

}  // namespace edgewise
