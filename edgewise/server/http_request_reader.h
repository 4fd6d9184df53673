// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/server/http_messages.h"
#include "edgewise/server/http_shared.h"
#include "edgewise/server/http_streams.h"
#include "edgewise/server/http_syntax.h"

namespace edgewise {

/// Reads the requests of a connection, one after another, within the limits of the server.
template <class Stream>
class HttpRequestReader {
 public:
  /// Receives the next request, or the answer to a refused one, after which the connection closes, or neither at the
  /// end of the connection. Holds a reference to the connection, so that the reader exists until the call.
  using Done = std::function<void(std::optional<HttpMessage> message, std::optional<HttpResponse> refusal)>;

  /// A surplus connection, beyond the limits, has a second for the head of a request, which must have no body.
  HttpRequestReader(Stream& stream, HttpShared& shared, bool is_surplus)
      : stream_(stream),
        shared_(shared),
        timer_(shared.io),
        max_body_(is_surplus ? 0 : shared.options.max_body),
        idle_seconds_(is_surplus ? kSurplusSeconds : shared.options.idle_seconds),
        head_seconds_(is_surplus ? kSurplusSeconds : shared.options.head_seconds) {}

  /// Calls `done` once, with the next request.
  void read(Done done) {
    done_ = std::move(done);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_head));
    parser_->body_limit(static_cast<std::uint64_t>(max_body_));
    socket_stream().expires_never();
    limit_time(buffer_.size() > 0 ? head_seconds_ : idle_seconds_);
    read_head();
  }

  /// Returns whether the reader waits for the first byte of a request.
  bool is_idle() const { return done_ && buffer_.size() == 0 && !is_in_body_; }

 private:
  static constexpr std::size_t kReadSize = std::size_t{8} * 1024;
  static constexpr std::size_t kBodyReadSize = std::size_t{64} * 1024;
  static constexpr std::chrono::milliseconds kCancelTime{10};
  static constexpr int kMaxCancels = 100;
  static constexpr double kSurplusSeconds = 1;
  using ErrorCode = boost::beast::error_code;

  auto& socket_stream() { return boost::beast::get_lowest_layer(stream_); }
  std::size_t max_head() const { return static_cast<std::size_t>(shared_.options.max_head); }
  std::string_view bytes() const { return {static_cast<const char*>(buffer_.data().data()), buffer_.size()}; }

  void finish(std::optional<HttpMessage> message = {}, std::optional<HttpResponse> refusal = {}) {
    if (!done_) return;
    is_in_body_ = false;
    ++deadline_;
    timer_.cancel();
    const Done done = std::exchange(done_, {});
    done(std::move(message), std::move(refusal));
  }

  void refuse(int status, const std::string& text) { finish({}, error_response(status, text)); }

  /// Ends a read in `seconds`. The deadline of the stream itself would close the socket, so that no answer could
  /// follow.
  void limit_time(double seconds) {
    is_late_ = false;
    cancel_in(milliseconds_of(seconds), ++deadline_, kMaxCancels);
  }

  /// Cancels the read after a time, unless another deadline has replaced this one, and again until the read ends: an
  /// operation of TLS that has just received a part of a record cannot be cancelled, and goes on to wait for the rest.
  void cancel_in(std::chrono::milliseconds time, std::int64_t deadline, int tries) {
    timer_.expires_after(time);
    timer_.async_wait([this, deadline, tries, done = done_](ErrorCode error) {
      if (error || deadline != deadline_) return;
      is_late_ = true;
      if (tries == 0) return finish();
      ErrorCode ignored;
      socket_stream().socket().cancel(ignored);
      cancel_in(kCancelTime, deadline, tries - 1);
    });
  }

  void read_head() {
    if (buffer_.size() > 0) {
      const std::size_t end = find_head_end(bytes());
      if (end > 0 && end <= max_head()) return parse_head(end);
      if (buffer_.size() >= max_head()) return refuse(431, "the head of the request is too long");
    } else if (shared_.is_draining) {
      return finish();
    }
    async_read_bytes(stream_, buffer_.prepare(std::min(max_head() - buffer_.size(), kReadSize)),
                     [this, done = done_](ErrorCode error, std::size_t size) { take_head_bytes(error, size); });
  }

  void take_head_bytes(ErrorCode error, std::size_t size) {
    if (is_late_ && buffer_.size() > 0) return refuse(408, "the request took too long to arrive");
    if (error) return finish();
    // The time for the head begins with its first byte, and later bytes do not extend it.
    if (buffer_.size() == 0) limit_time(head_seconds_);
    buffer_.commit(size);
    read_head();
  }

  void parse_head(std::size_t size) {
    if (const std::string wrong = check_head(bytes().substr(0, size)); !wrong.empty()) {
      return refuse(400, "the request has " + wrong);
    }
    ErrorCode error;
    const std::size_t parsed = parser_->put(boost::asio::buffer(buffer_.data(), size), error);
    if (error == boost::beast::http::error::body_limit) return refuse(413, "the body of the request is too long");
    if (error || parsed != size || !parser_->is_header_done()) {
      return refuse(400, "the request is malformed: " + error.message());
    }
    buffer_.consume(size);
    is_in_body_ = true;
    check_fields();
  }

  void check_fields() {
    using boost::beast::http::field;
    const HttpMessage& message = parser_->get();
    if (message.count(field::transfer_encoding) > 0) {
      return refuse(411, "the request has Transfer-Encoding, needs Content-Length");
    }
    if (message.count(field::content_length) > 1) return refuse(400, "the request has several Content-Length");
    const std::string_view length_text = message[field::content_length];
    if (length_text.find_first_not_of("0123456789") != std::string_view::npos) {
      return refuse(400, "the request has a Content-Length that is no number");
    }
    const std::size_t hosts = message.count(field::host);
    if (hosts > 1 || (hosts == 0 && message.version() >= 11)) return refuse(400, "the request needs one Host");
    if (!is_host(message[field::host])) return refuse(400, "the request has a malformed Host");
    const auto length = parser_->content_length();
    if (length && *length > static_cast<std::uint64_t>(max_body_)) {
      return refuse(413, "the body of the request is too long");
    }
    if (message.count(field::expect) > 0) return answer_expectation(message);
    read_body();
  }

  void answer_expectation(const HttpMessage& message) {
    using boost::beast::http::field;
    const std::string_view expectation = message[field::expect];
    if (message.count(field::expect) > 1 || !boost::beast::iequals(expectation, "100-continue")) {
      return refuse(417, "the only expectation is 100-continue");
    }
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    limit_time(shared_.options.write_seconds);
    async_write_bytes(stream_, kContinue, [this, done = done_](ErrorCode error, std::size_t) {
      if (error) return finish();
      read_body();
    });
  }

  void read_body() {
    if (parser_->is_done()) return finish_request();
    limit_time(shared_.options.body_seconds);
    take_body({}, 0);
  }

  /// Takes bytes into the body, and reads the next part: a read of the whole body could not be cancelled while it never
  /// has to wait for bytes.
  void take_body(ErrorCode error, std::size_t size) {
    if (is_late_) return refuse(408, "the body of the request took too long to arrive");
    if (error) return finish();
    buffer_.commit(size);
    while (buffer_.size() > 0 && !parser_->is_done()) {
      buffer_.consume(parser_->put(buffer_.data(), error));
      if (error == boost::beast::http::error::body_limit) return refuse(413, "the body of the request is too long");
      if (error) return finish();
    }
    if (parser_->is_done()) return finish_request();
    async_read_bytes(stream_, buffer_.prepare(kBodyReadSize),
                     [this, done = done_](ErrorCode failure, std::size_t bytes) { take_body(failure, bytes); });
  }

  void finish_request() { finish(parser_->release()); }

  Stream& stream_;
  HttpShared& shared_;
  boost::asio::steady_timer timer_;
  std::int64_t max_body_;
  double idle_seconds_;
  double head_seconds_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool is_in_body_ = false;
  bool is_late_ = false;       // whether the time for reading is over
  std::int64_t deadline_ = 0;  // number of the last deadline
  Done done_;
};

}  // namespace edgewise
