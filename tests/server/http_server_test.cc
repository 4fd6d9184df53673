// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/server/raw_client.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

void echo(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  exchange->respond({.content_type = "text/plain",
                     .body = request.method + " " + request.path + " " + request.query + " " + request.body});
}

/// A server on a free port of this machine.
class Server {
 public:
  explicit Server(HttpHandler answer = echo, HttpServerOptions options = {})
      : server_(with_free_port(std::move(options)), {.answer = std::move(answer),
                                                     .record =
                                                         [this](const HttpRecord& record) {
                                                           const std::lock_guard lock(mutex_);
                                                           records_.push_back(record);
                                                         },
                                                     .report =
                                                         [this](const std::string& text) {
                                                           const std::lock_guard lock(mutex_);
                                                           report_ = text;
                                                         }}) {}

  HttpServer* operator->() { return &server_; }
  std::uint16_t port() const { return server_.port(); }
  std::string report() {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  std::vector<HttpRecord> records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  static HttpServerOptions with_free_port(HttpServerOptions options) {
    if (options.listen == HttpServerOptions().listen) options.listen = "127.0.0.1:0";
    return options;
  }

  std::mutex mutex_;
  std::vector<HttpRecord> records_;
  std::string report_;
  HttpServer server_;
};

std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

std::string post(const std::string& body, const std::string& fields = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

template <class Condition>
bool becomes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(HttpServer, AnswersRequestsOfAConnectionOneAfterAnother) {
  Server server;
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/a?b=c")), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nGET /a b=c ")));
  EXPECT_THAT(client.ask(post("text")), EndsWith("\r\n\r\nPOST /  text"));
  client.send(post("first") + post("second"));
  EXPECT_THAT(client.read_response(), EndsWith("first"));
  EXPECT_THAT(client.read_response(), EndsWith("second"));
}

TEST(HttpServer, AnswersARequestThatArrivesByteByByte) {
  Server server;
  RawClient client(server.port());
  for (const char byte : post("text")) client.send(std::string(1, byte));
  EXPECT_THAT(client.read_response(), EndsWith("POST /  text"));
}

TEST(HttpServer, AnswersThatAFileIsUnchangedWithoutALength) {
  Server server([](const auto& exchange) {
    exchange->respond({.status = 304, .content_type = "", .headers = {{"ETag", "\"1\""}}});
  });
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    const std::string response = client.ask(get("/"));
    EXPECT_THAT(response, AllOf(StartsWith("HTTP/1.1 304 Not Modified\r\n"), HasSubstr("ETag: \"1\"\r\n")));
    EXPECT_THAT(response, testing::Not(HasSubstr("Content-Length")));
  }
}

TEST(HttpServer, ReadsTheBodyOfAGet) {
  Server server;
  RawClient client(server.port());
  EXPECT_THAT(client.ask("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"), EndsWith("GET /a  hi"));
}

TEST(HttpServer, ClosesTheConnectionOfAClientThatAsksForIt) {
  Server server;
  for (const char* request : {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    RawClient client(server.port());
    EXPECT_THAT(client.ask(request), HasSubstr(" 200 OK"));
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  Server server;
  RawClient client(server.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Length: 9\r\n")));
  EXPECT_THAT(client.ask(get("/next")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, SendsContinueToAClientThatWaitsForIt) {
  Server server;
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(client.ask("hi"), EndsWith("POST /  hi"));
}

struct RefusedRequest {
  std::string request;
  int status;
};

TEST(HttpServer, RefusesRequestsThatServersMayReadDifferently) {
  Server server;
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::vector<RefusedRequest> cases = {
      {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
      {head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400},
      {head + "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\na", 411},
      {head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400},
      {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na", 400},
      {head + "Content-Length: 1, 1\r\n\r\na", 400},
      {head + "Content-Length: -1\r\n\r\n", 400},
      {head + "Content-Length: +1\r\n\r\na", 400},
      {head + "Content-Length: 0x1\r\n\r\na", 400},
      {head + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {head + "Content-Length : 1\r\n\r\na", 400},
      {head + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n", 400},
      {"POST / HTTP/1.1\nHost: a\nContent-Length: 0\n\n", 400},
      {"\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400},
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET\r\nHost: a\r\n\r\n", 400},
      {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 29), 400},
      {"\x16\x03\x01\x02\x01\x01\r\n\r\n", 400},
      {head + "Expect: coffee\r\nContent-Length: 0\r\n\r\n", 417},
  };
  for (const auto& [request, status] : cases) {
    RawClient client(server.port());
    EXPECT_THAT(client.ask(request), StartsWith("HTTP/1.1 " + std::to_string(status) + " ")) << request;
    EXPECT_TRUE(client.is_closed()) << request;
  }
  EXPECT_EQ(server.records().size(), cases.size());
}

TEST(HttpServer, RefusesWhatIsLongerThanItsLimits) {
  HttpServerOptions options;
  options.max_head = 1000;
  options.max_body = 100;
  Server server(echo, options);
  const auto ask = [&](const std::string& request) { return RawClient(server.port()).ask(request); };
  EXPECT_THAT(ask(post(std::string(100, 'a'))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(post(std::string(101, 'a'))), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(post(std::string(500'000, 'a'))), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(get("/" + std::string(2000, 'a'))), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, ClosesConnectionsThatSendTooSlowly) {
  HttpServerOptions options;
  options.head_seconds = options.body_seconds = 0.2;
  Server server(echo, options);
  options.idle_seconds = 0.2;
  Server impatient(echo, options);
  RawClient idle(impatient.port());
  RawClient head(server.port());
  RawClient body(server.port());
  head.send("GET / HT");
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(head.read_response(), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(body.read_response(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(idle.is_closed());
}

TEST(HttpServer, AnswersOtherRequestsWhileAHandlerWorks) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  Server server([wait](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/slow") wait.wait();
    echo(exchange);
  });
  RawClient slow(server.port());
  slow.send(get("/slow"));
  EXPECT_THAT(RawClient(server.port()).ask(get("/fast")), EndsWith("GET /fast  "));
  may_go_on.set_value();
  EXPECT_THAT(slow.read_response(), EndsWith("GET /slow  "));
}

TEST(HttpServer, RefusesRequestsBeyondItsLimitAtOnce) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  HttpServerOptions options;
  options.max_requests = 2;
  Server server(
      [wait](const std::shared_ptr<HttpExchange>& exchange) {
        wait.wait();
        echo(exchange);
      },
      options);
  RawClient first(server.port());
  RawClient second(server.port());
  RawClient third(server.port());
  first.send(get("/1"));
  second.send(get("/2"));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 2; }));
  EXPECT_THAT(third.ask(get("/3")), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
  may_go_on.set_value();
  EXPECT_THAT(first.read_response(), EndsWith("GET /1  "));
  EXPECT_THAT(second.read_response(), EndsWith("GET /2  "));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 0; }));
  EXPECT_THAT(third.ask(get("/4")), EndsWith("GET /4  "));
}

TEST(HttpServer, RefusesConnectionsBeyondTheLimitOfAClient) {
  HttpServerOptions options;
  options.max_connections_per_client = 2;
  Server server(echo, options);
  RawClient first(server.port());
  RawClient second(server.port());
  EXPECT_THAT(first.ask(get("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(second.ask(get("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(RawClient(server.port()).read_response(),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
  first.close();
  EXPECT_TRUE(becomes_true([&] { return RawClient(server.port()).ask(get("/")).starts_with("HTTP/1.1 200 "); }));
}

TEST(HttpServer, TellsAHandlerThatTheClientHungUp) {
  std::promise<void> abandoned;
  Server server([&](const std::shared_ptr<HttpExchange>& exchange) {
    auto waited = std::make_shared<std::promise<void>>();
    exchange->on_abandon([&abandoned, waited] {
      abandoned.set_value();
      waited->set_value();
    });
    waited->get_future().wait();
    exchange->respond({.body = "nobody reads this"});
  });
  // The bytes of a next request hide the end of the connection from a read.
  for (const std::string& next : {std::string(), get("/next")}) {
    abandoned = {};
    {
      RawClient client(server.port());
      client.send(get("/"));
      ASSERT_TRUE(becomes_true([&] { return server->load().requests == 1; }));
      client.send(next);
    }
    ASSERT_EQ(abandoned.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    ASSERT_TRUE(becomes_true([&] { return server->load().connections == 0 && server->load().requests == 0; }));
  }
  EXPECT_TRUE(server.records().back().was_abandoned);
}

TEST(HttpServer, AnswersInPlaceOfAHandlerThatTakesTooLong) {
  HttpServerOptions options;
  options.request_seconds = 0.1;
  std::atomic<int> abandoned = 0;
  Server server(
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        auto waited = std::make_shared<std::promise<void>>();
        exchange->on_abandon([&abandoned, waited] {
          ++abandoned;
          waited->set_value();
        });
        waited->get_future().wait();
        exchange->respond({.body = "too late"});
      },
      options);
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/")), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(abandoned, 1);
  EXPECT_THAT(client.ask(get("/")), StartsWith("HTTP/1.1 503 "));
}

TEST(HttpServer, AnswersInPlaceOfAHandlerThatFailsOrForgetsToAnswer) {
  Server server([](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/throw") throw std::runtime_error("disk on fire");
  });
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/throw")), StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(server.report(), "disk on fire");
  EXPECT_THAT(client.ask(get("/forget")), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, SendsAStreamInChunks) {
  Server server([](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->begin_stream({.content_type = "text/event-stream"});
    EXPECT_TRUE(exchange->write("first "));
    EXPECT_TRUE(exchange->write("second"));
    exchange->end_stream();
  });
  RawClient client(server.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_until("0\r\n\r\n"), AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"),
                                                    EndsWith("\r\n\r\n6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")));
  client.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.read_all(), AllOf(Not(HasSubstr("chunked")), EndsWith("\r\n\r\nfirst second")));
}

TEST(HttpServer, StopsAStreamWhoseClientHungUpOrDoesNotRead) {
  HttpServerOptions options;
  options.write_seconds = 0.3;
  std::atomic<int> ended = 0;
  Server server(
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        exchange->begin_stream({});
        while (exchange->write(std::string(100'000, 'a'))) {
        }
        ++ended;
      },
      options);
  RawClient deaf(server.port());
  deaf.send(get("/"));
  {
    RawClient gone(server.port());
    gone.send(get("/"));
    gone.read_until("aaa");
  }
  EXPECT_TRUE(becomes_true([&] { return ended == 2; }));
}

TEST(HttpServer, FinishesItsRequestsWhenItDrains) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  Server server([wait](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/slow") wait.wait();
    echo(exchange);
  });
  RawClient idle(server.port());
  EXPECT_THAT(idle.ask(get("/")), StartsWith("HTTP/1.1 200 "));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 0; }));
  RawClient slow(server.port());
  slow.send(get("/slow"));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 1; }));
  EXPECT_FALSE(server->drain(0.1));
  EXPECT_TRUE(idle.is_closed());
  EXPECT_EQ(error_of([&] { RawClient(server.port()).ask(get("/")); }), "no connection");
  may_go_on.set_value();
  EXPECT_TRUE(server->drain(20));
  EXPECT_THAT(slow.read_response(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET /slow  ")));
}

TEST(HttpServer, ListensOnAUnixSocketAndReplacesThatOfADeadServer) {
  const std::string path = testing::TempDir() + "edgewise-http-" + std::to_string(::getpid());
  HttpServerOptions options;
  options.listen = "unix:" + path;
  { const Server server(echo, options); }
  const Server server(echo, options);
  EXPECT_EQ(server.port(), 0);
  EXPECT_THAT(error_of([&] { Server(echo, options); }), StartsWith("serve: cannot listen on unix:"));
  ::unlink(path.c_str());
}

TEST(HttpServer, RefusesAddressesThatItCannotUse) {
  const auto refuse = [](const std::string& address) {
    HttpServerOptions options;
    options.listen = address;
    return error_of([&] { HttpServer(options, {.answer = echo}); });
  };
  EXPECT_EQ(refuse("localhost"), "serve: listen is \"localhost\", needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
  EXPECT_EQ(refuse("127.0.0.1:65536"),
            "serve: listen is \"127.0.0.1:65536\", needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
  const Server server;
  EXPECT_EQ(refuse("127.0.0.1:" + std::to_string(server.port())),
            "serve: cannot listen on 127.0.0.1:" + std::to_string(server.port()) + ": Address already in use");
}

}  // namespace
}  // namespace edgewise
