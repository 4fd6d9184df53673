// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_connection.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "edgewise/server/http.h"
#include "edgewise/server/http_exchange.h"
#include "edgewise/server/http_request_reader.h"
#include "edgewise/server/http_streams.h"

namespace edgewise {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxSurplusConnections = 128;  // number of connections beyond the limits that get an answer
constexpr std::string_view kSurplusText = "there are too many connections";
constexpr std::chrono::milliseconds kPollTime{100};

template <class Stream>
class Connection final : public ExchangeConnection,
                         public ClosableConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  /// A connection beyond the limits, `is_surplus`, gets an answer to a probe, and status 429 to any other request.
  Connection(Stream stream, std::string peer, HttpShared& shared, bool is_surplus)
      : stream_(std::move(stream)),
        timer_(shared.io),
        peer_(std::move(peer)),
        is_surplus_(is_surplus),
        shared_(shared),
        reader_(stream_, shared, is_surplus) {
    shared_.add(this, peer_);
  }

  ~Connection() override {
    set_unsent_bytes(0);
    shared_.remove(this, peer_);
  }

  void start() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      socket_stream().expires_after(milliseconds_of(shared_.options.head_seconds));
      stream_.async_handshake(net::ssl::stream_base::server, on_result([](Connection& self, error_code error) {
                                if (!error) self.read_request();
                              }));
    } else {
      read_request();
    }
  }

  // --- ClosableConnection

  void close_if_idle() override {
    error_code ignored;
    if (reader_.is_idle() && socket_stream().socket().available(ignored) == 0) close();
  }

  void close() override {
    if (exchange_) abandon_exchange();
    set_unsent_bytes(0);
    error_code ignored;
    socket_stream().socket().close(ignored);
    timer_.cancel();
  }

  std::int64_t unsent_bytes() const override { return unsent_bytes_; }
  const std::string& client() const override { return record_.client; }

  // --- ExchangeConnection

  void respond(std::int64_t id, HttpResponse response) override {
    if (!is_current(id) || is_streaming_) return;
    is_answered_ = true;
    timer_.cancel();
    stop_watching();
    send(std::move(response), keeps_alive());
  }

  void begin_stream(std::int64_t id, HttpResponse head) override {
    if (!is_current(id) || is_streaming_) return;
    limit_stream();
    is_streaming_ = true;
    status_ = head.status;
    response_bytes_ = 0;
    is_answered_ = leaves_out_body();
    stays_after_stream_ = can_chunk() && keeps_alive();
    HttpResponseHead fields = make_response_head(head, version_, stays_after_stream_);
    add_common_headers(fields);
    if (can_chunk() && !has_no_body(status_)) fields.chunked(true);
    is_writing_ = true;
    write_bytes(head_text(fields), [](Connection& self, error_code error) { self.finish_piece(error, 0); });
  }

  void cut_off(std::int64_t id) override {
    if (is_current(id)) close();
  }

  void write(std::int64_t id, std::string piece) override {
    if (!is_current(id) || !is_streaming_) return;
    set_unsent_bytes(unsent_bytes_ + std::ssize(piece));
    pieces_.push_back(std::move(piece));
    write_next_piece();
  }

  void end_stream(std::int64_t id) override {
    if (!is_current(id) || !is_streaming_) return;
    is_answered_ = true;
    write_next_piece();
  }

 private:
  /// Returns a completion handler that keeps the connection and calls `call` with it.
  template <class Call>
  auto on_result(Call call) {
    return [self = this->shared_from_this(), call](error_code error) { call(*self, error); };
  }

  PlainStream& socket_stream() { return beast::get_lowest_layer(stream_); }
  void expire_after(double seconds) { socket_stream().expires_after(milliseconds_of(seconds)); }

  void read_request() {
    is_head_ = false;
    reader_.read(
        [self = this->shared_from_this()](std::optional<HttpMessage> message, std::optional<HttpResponse> refusal) {
          if (message) return self->begin_exchange(*std::move(message));
          if (self->is_surplus_) return self->refuse(error_response(429, kSurplusText));
          if (refusal) return self->refuse(*std::move(refusal));
          self->close();
        });
  }

  /// Answers with an error, and closes the connection.
  void refuse(HttpResponse response) {
    begin_ = Clock::now();
    record_ = {.client = shared_.proxies.client_of(peer_, "")};
    send(std::move(response), /*stays=*/false);
  }

  // --- an exchange

  void begin_exchange(HttpMessage message) {
    begin_ = Clock::now();
    status_ = 0;
    version_ = message.version();
    wants_to_stay_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    HttpRequest request = make_http_request(message);
    if (request.path.empty()) return refuse(error_response(400, "the request has a malformed target"));
    request.client = shared_.proxies.client_of(peer_, request.header("X-Forwarded-For").value_or(""));
    record_ = {.client = request.client,
               .method = request.method,
               .path = request.path,
               .request_bytes = std::ssize(request.body)};

    exchange_ = std::make_shared<ConnectionExchange>(shared_.io.get_executor(), this->shared_from_this(), ++last_id_,
                                                     std::move(request));
    const bool is_probe = shared_.handlers.is_probe && shared_.handlers.is_probe(exchange_->request());
    if (is_surplus_ && !is_probe) return respond(last_id_, error_response(429, kSurplusText));
    if (!is_probe && shared_.requests >= shared_.options.max_requests) {
      return respond(last_id_, error_response(429, "the server has too many requests; try again later"));
    }
    socket_stream().expires_never();
    wait_for_answer();
    run_handler(is_probe);
  }

  void run_handler(bool is_probe) {
    // The deleter runs when the handler has dropped its last reference; the connection keeps one of its own.
    std::shared_ptr<HttpExchange> answered(exchange_.get(),
                                           [exchange = exchange_](HttpExchange*) { exchange->finish_if_forgotten(); });
    if (is_probe) return shared_.answer(answered);
    ++shared_.requests;
    shared_.handler_threads.post([&shared = shared_, exchange = std::move(answered)]() mutable {
      shared.answer(exchange);
      exchange.reset();
      --shared.requests;
    });
  }

  /// Returns whether the exchange waits for its answer, or for more of it.
  bool is_current(std::int64_t id) const { return exchange_ && exchange_->id() == id && !is_answered_; }
  bool can_chunk() const { return version_ >= 11; }
  bool leaves_out_body() const { return is_head_ || has_no_body(status_); }
  bool keeps_alive() const { return wants_to_stay_ && !shared_.is_draining && !is_surplus_; }

  /// Watches the socket and the time until the response begins.
  void wait_for_answer() {
    timer_.expires_after(milliseconds_of(shared_.options.request_seconds));
    timer_.async_wait(on_result([id = last_id_](Connection& self, error_code error) {
      if (!error && self.is_current(id) && !self.is_streaming_) self.end_late_exchange();
    }));
    socket_stream().socket().async_wait(net::socket_base::wait_read,
                                        on_result([id = last_id_](Connection& self, error_code error) {
                                          if (!error && self.is_current(id)) self.check_peer();
                                        }));
  }

  /// Limits the time until the client has the whole stream, however little it accepts at a time.
  void limit_stream() {
    timer_.expires_at(begin_ + milliseconds_of(shared_.options.request_seconds + shared_.options.write_seconds));
    timer_.async_wait(on_result([id = last_id_](Connection& self, error_code error) {
      if (!error && self.exchange_ && self.exchange_->id() == id) self.close();
    }));
  }

  /// Ends the exchange if the client hung up. Bytes of a next request may wait, too; then the end shows only in the
  /// state of the socket, which is read again and again.
  void check_peer() {
    if (is_closed_by_peer(socket_stream().socket().native_handle())) return close();
    auto poll = std::make_shared<net::steady_timer>(shared_.io, kPollTime);
    poll->async_wait(on_result([id = last_id_, poll](Connection& self, error_code) {
      if (self.is_current(id)) self.check_peer();
    }));
  }

  void end_late_exchange() {
    exchange_->abandon();
    respond(exchange_->id(), error_response(503, "the request took too long"));
  }

  void abandon_exchange() {
    record_.was_abandoned = true;
    exchange_->abandon();
    end_exchange();
    record_response();
  }

  void stop_watching() {
    error_code ignored;
    socket_stream().socket().cancel(ignored);
  }

  void end_exchange() {
    if (!exchange_) return;
    exchange_->complete();
    exchange_.reset();
    is_streaming_ = is_answered_ = is_writing_ = false;
    pieces_.clear();
  }

  void record_response() {
    record_.status = status_;
    record_.response_bytes = response_bytes_;
    record_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (shared_.handlers.record) shared_.handlers.record(record_);
  }

  // --- writing

  void add_common_headers(HttpResponseHead& head) const {
    for (const HttpHeader& header : shared_.handlers.headers) head.insert(header.name, header.value);
  }

  void set_unsent_bytes(std::int64_t bytes) {
    shared_.unsent_bytes += bytes - std::exchange(unsent_bytes_, bytes);
    const bool is_too_much = shared_.unsent_bytes > shared_.options.max_unsent;
    if (is_too_much) net::post(shared_.io, [&shared = shared_] { shared.limit_unsent_bytes(); });
  }

  /// Writes bytes, and calls `done` with the connection and the error.
  template <class Call>
  void write_bytes(std::string bytes, Call done) {
    written_ = std::move(bytes);
    expire_after(shared_.options.write_seconds);
    async_write_bytes(stream_, written_,
                      [self = this->shared_from_this(), done](error_code error, std::size_t) { done(*self, error); });
  }

  void send(HttpResponse response, bool stays) {
    status_ = response.status;
    timer_.cancel();
    HttpResponseHead head = make_response_head(response, version_, stays);
    add_common_headers(head);
    if (!has_no_body(status_)) head.content_length(response.body.size());
    if (leaves_out_body()) response.body.clear();
    response_bytes_ = std::ssize(response.body);
    set_unsent_bytes(response_bytes_);
    write_bytes(head_text(head) + std::exchange(response.body, {}),
                [stays](Connection& self, error_code error) { self.finish_response(error, stays); });
  }

  void finish_response(error_code error, bool stays) {
    if (error) return close();
    timer_.cancel();
    end_exchange();
    set_unsent_bytes(0);
    record_response();
    written_.clear();
    written_.shrink_to_fit();
    if (stays) return read_request();
    std::make_shared<HttpLinger<Stream>>(stream_, this->shared_from_this())->start();
  }

  void write_next_piece() {
    if (is_writing_) return;
    if (!pieces_.empty()) {
      is_writing_ = true;
      std::string piece = std::move(pieces_.front());
      pieces_.pop_front();
      const std::size_t size = piece.size();
      if (can_chunk()) piece = fmt::format("{:x}\r\n{}\r\n", size, piece);
      write_bytes(std::move(piece), [size](Connection& self, error_code error) { self.finish_piece(error, size); });
    } else if (is_answered_) {
      end_pieces();
    }
  }

  void finish_piece(error_code error, std::size_t size) {
    if (error || !exchange_) return close();
    is_writing_ = false;
    if (size > 0) {
      response_bytes_ += static_cast<std::int64_t>(size);
      set_unsent_bytes(unsent_bytes_ - static_cast<std::int64_t>(size));
    }
    socket_stream().expires_never();
    write_next_piece();
  }

  void end_pieces() {
    stop_watching();
    const bool stays = stays_after_stream_;
    if (!can_chunk() || leaves_out_body()) return finish_response({}, stays);
    is_writing_ = true;
    write_bytes("0\r\n\r\n", [stays](Connection& self, error_code error) { self.finish_response(error, stays); });
  }

  Stream stream_;
  net::steady_timer timer_;
  std::string peer_;
  bool is_surplus_;
  HttpShared& shared_;
  HttpRequestReader<Stream> reader_;
  unsigned version_ = 11;
  bool wants_to_stay_ = false;
  bool is_head_ = false;  // whether the method is HEAD

  std::shared_ptr<ConnectionExchange> exchange_;
  std::int64_t last_id_ = 0;
  bool is_answered_ = false;  // whether the exchange has its whole answer
  Clock::time_point begin_;
  HttpRecord record_;
  int status_ = 0;
  std::int64_t response_bytes_ = 0;

  std::deque<std::string> pieces_;
  std::int64_t unsent_bytes_ = 0;
  std::string written_;  // being written; a write that is cancelled may still read its bytes
  bool is_streaming_ = false;
  bool stays_after_stream_ = false;
  bool is_writing_ = false;
};

}  // namespace

void serve_connection(HttpSocket socket, const std::string& peer, HttpShared& shared,
                      const std::shared_ptr<net::ssl::context>& tls) {
  const std::int64_t surplus = shared.surplus_connections(peer);
  const bool is_surplus = surplus >= 0;
  if (surplus >= kMaxSurplusConnections || (is_surplus && tls)) return;  // closes the socket
  PlainStream stream(std::move(socket));
  if (tls) {
    std::make_shared<Connection<TlsStream>>(TlsStream(std::move(stream), *tls), peer, shared, false)->start();
  } else {
    std::make_shared<Connection<PlainStream>>(std::move(stream), peer, shared, is_surplus)->start();
  }
}

}  // namespace edgewise
