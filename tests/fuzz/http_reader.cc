// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/ascii.h"
#include "edgewise/server/http_request_reader.h"
#include "edgewise/server/http_shared.h"
#include "edgewise/server/http_streams.h"
#include "edgewise/server/http_syntax.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

namespace net = boost::asio;
using ErrorCode = boost::system::error_code;

/// A stream that has received all bytes of a client, and gives them in fragments.
class FragmentStream {
 public:
  /// Each byte of `sizes` is the size of a fragment; after the last one follows the first. Empty: one fragment.
  FragmentStream(net::io_context& io, std::string_view bytes, std::string_view sizes)
      : io_(io), bytes_(bytes), sizes_(sizes) {}

  friend void async_read_bytes(FragmentStream& stream, net::mutable_buffer buffer, HttpBytesHandler done) {
    const std::size_t size = net::buffer_copy(buffer, net::buffer(stream.bytes_.substr(0, stream.next_size())));
    stream.bytes_.remove_prefix(size);
    const ErrorCode error = size > 0 || buffer.size() == 0 ? ErrorCode() : net::error::eof;
    net::post(stream.io_, [error, size, done = std::move(done)] { done(error, size); });
  }

  friend void async_write_bytes(FragmentStream& stream, std::string_view bytes, HttpBytesHandler done) {
    net::post(stream.io_, [size = bytes.size(), done = std::move(done)] { done(ErrorCode(), size); });
  }

  void expires_never() {}
  FragmentStream& socket() { return *this; }
  void cancel(ErrorCode&) {}

 private:
  std::size_t next_size() {
    if (sizes_.empty()) return bytes_.size();
    return std::max<std::size_t>(static_cast<unsigned char>(sizes_[num_reads_++ % sizes_.size()]), 1);
  }

  net::io_context& io_;
  std::string_view bytes_;
  std::string_view sizes_;
  std::size_t num_reads_ = 0;
};

/// The requests of a connection, and how the connection ends.
struct ReadConnection {
  std::vector<HttpRequest> requests = {};
  int status = 0;  // of the refused request; 0 without one
};

HttpShared& shared_state() {
  // Small limits, which small inputs reach.
  static HttpShared shared({.max_requests = 1, .max_head = 300, .max_body = 100}, {});
  return shared;
}

ReadConnection read_connection(std::string_view bytes, std::string_view sizes) {
  HttpShared& shared = shared_state();
  FragmentStream stream(shared.io, bytes, sizes);
  HttpRequestReader reader(stream, shared, /*is_surplus=*/false);
  ReadConnection connection;
  for (bool is_open = true; is_open;) {
    bool is_done = false;
    reader.read([&](std::optional<HttpMessage> message, const std::optional<HttpResponse>& refusal) {
      is_done = true;
      is_open = message.has_value();
      connection.status = refusal ? refusal->status : 0;
      if (is_open) connection.requests.push_back(make_http_request(*message));
    });
    shared.io.restart();
    shared.io.run();
    require(is_done);
  }
  return connection;
}

/// Returns the length of the body that a head announces, in which every field has a line of its own.
std::size_t announced_length(std::string_view head) {
  constexpr std::string_view kField = "\r\ncontent-length:";
  const std::string lower = lower_ascii(head);
  const std::size_t field = lower.find(kField);
  if (field == std::string::npos) return 0;
  require(lower.find(kField, field + 1) == std::string::npos);
  const std::size_t begin = field + kField.size();
  return std::stoul(lower.substr(begin, lower.find("\r\n", begin) - begin));
}

/// Checks a request against the bytes from which it was read, and removes these bytes.
void check_request(const HttpRequest& request, std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n\r\n") + 4;
  const std::string_view head = bytes.substr(0, end);
  require(check_head(head).empty());
  require(lower_ascii(head).find("\r\ntransfer-encoding:") == std::string::npos);
  require(head.starts_with(request.method + " "));
  require(request.body == bytes.substr(end, announced_length(head)));
  require(request.path.empty() || request.path == "*" || request.path.front() == '/');
  bytes.remove_prefix(end + request.body.size());
}

bool have_same_text(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.body == b.body &&
         a.headers.size() == b.headers.size();
}

}  // namespace

void read_http(std::string_view bytes) {
  const std::size_t line_end = std::min(bytes.find('\n'), bytes.size());
  std::string_view sent = bytes.substr(std::min(line_end + 1, bytes.size()));
  const ReadConnection whole = read_connection(sent, {});
  const ReadConnection in_fragments = read_connection(sent, bytes.substr(0, line_end));
  require(whole.status == in_fragments.status);
  require(std::ranges::equal(whole.requests, in_fragments.requests, have_same_text));
  require(whole.status == 0 || (whole.status >= 400 && whole.status < 500));
  for (const HttpRequest& request : whole.requests) check_request(request, sent);
}

}  // namespace edgewise::fuzz
