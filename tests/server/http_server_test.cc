// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <new>
#include <stdexcept>

#include "tests/server/raw_client.h"
#include "tests/server/recording_server.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string name_of_this_process() {
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  return name;
}

TEST(HttpServer, AnswersRequestsOfAConnectionOneAfterAnother) {
  RecordingServer server;
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/a?b=c")), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nGET /a b=c ")));
  EXPECT_THAT(client.ask(post("text")), EndsWith("\r\n\r\nPOST /  text"));
  client.send(post("first") + post("second"));
  EXPECT_THAT(client.read_response(), EndsWith("first"));
  EXPECT_THAT(client.read_response(), EndsWith("second"));
}

TEST(HttpServer, AnswersARequestThatArrivesByteByByte) {
  RecordingServer server;
  RawClient client(server.port());
  for (const char byte : post("text")) client.send(std::string(1, byte));
  EXPECT_THAT(client.read_response(), EndsWith("POST /  text"));
}

TEST(HttpServer, ClosesTheConnectionOfAClientThatAsksForIt) {
  RecordingServer server;
  for (const char* request : {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    RawClient client(server.port());
    EXPECT_THAT(client.ask(request), HasSubstr(" 200 OK"));
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(HttpServer, SendsContinueToAClientThatWaitsForIt) {
  RecordingServer server;
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(client.ask("hi"), EndsWith("POST /  hi"));
}

TEST(HttpServer, RefusesWhatIsLongerThanItsLimits) {
  HttpServerOptions options;
  options.max_head = 1000;
  options.max_body = 100;
  RecordingServer server(echo, options);
  const auto ask = [&](const std::string& request) { return RawClient(server.port()).ask(request); };
  EXPECT_THAT(ask(post(std::string(100, 'a'))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(post(std::string(101, 'a'))), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(post(std::string(500'000, 'a'))), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(get("/" + std::string(2000, 'a'))), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, ClosesConnectionsThatSendTooSlowly) {
  HttpServerOptions options;
  options.head_seconds = options.body_seconds = 0.2;
  RecordingServer server(echo, options);
  options.idle_seconds = 0.2;
  RecordingServer impatient(echo, options);
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
  RecordingServer server([wait](const std::shared_ptr<HttpExchange>& exchange) {
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
  RecordingServer server(
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
  RecordingServer server(echo, options);
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
  RecordingServer server([&](const std::shared_ptr<HttpExchange>& exchange) {
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
    ASSERT_EQ(abandoned.get_future().wait_for(std::chrono::minutes(10)), std::future_status::ready);
    ASSERT_TRUE(becomes_true([&] { return server->load().connections == 0 && server->load().requests == 0; }));
  }
  EXPECT_TRUE(server.records().back().was_abandoned);
}

TEST(HttpServer, AnswersInPlaceOfAHandlerThatTakesTooLong) {
  HttpServerOptions options;
  options.request_seconds = 0.1;
  std::atomic<int> abandoned = 0;
  RecordingServer server(
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
  RecordingServer server([](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/throw") throw std::runtime_error("disk on fire");
  });
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/throw")), StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(server.report(), "disk on fire");
  EXPECT_THAT(client.ask(get("/forget")), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, OutlivesAnExceptionOfItsConnections) {
  std::promise<std::string> reported;
  const HttpServer server({.listen = "127.0.0.1:0"},
                          {.answer = echo,
                           .record =
                               [](const HttpRecord& record) {
                                 if (record.path == "/throw") throw std::bad_alloc();
                               },
                           .report = [&](const std::string& text) { reported.set_value(text); }});
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/throw")), EndsWith("GET /throw  "));
  EXPECT_EQ(reported.get_future().get(), "std::bad_alloc");
  EXPECT_TRUE(client.is_closed());
  EXPECT_THAT(RawClient(server.port()).ask(get("/a")), EndsWith("GET /a  "));
}

TEST(HttpServer, SendsAStreamInChunks) {
  RecordingServer server([](const std::shared_ptr<HttpExchange>& exchange) {
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
  options.max_unsent = 1'000'000;
  std::atomic<int> ended = 0;
  RecordingServer server(
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
  RecordingServer server([wait](const std::shared_ptr<HttpExchange>& exchange) {
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
  EXPECT_TRUE(server->drain(600));
  EXPECT_THAT(slow.read_response(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET /slow  ")));
}

TEST(HttpServer, AnswersRequestsThatArriveBeforeItDrains) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  HttpServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto block_connections = [wait](const HttpRecord& record) {
    if (record.path == "/block") wait.wait();
  };
  HttpServer server(options, {.answer = echo, .record = block_connections});
  RawClient open(server.port());
  EXPECT_THAT(open.ask(get("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(RawClient(server.port()).ask(get("/block")), StartsWith("HTTP/1.1 200 "));
  open.send(get("/open"));
  RawClient unaccepted(server.port());
  unaccepted.send(get("/unaccepted"));
  EXPECT_FALSE(server.drain(0));
  may_go_on.set_value();
  EXPECT_THAT(open.read_response(), EndsWith("GET /open  "));
  EXPECT_THAT(unaccepted.read_response(), EndsWith("GET /unaccepted  "));
  EXPECT_TRUE(server.drain(600));
}

TEST(HttpServer, ListensOnAUnixSocketAndReplacesThatOfADeadServer) {
  const std::string path = testing::TempDir() + "edgewise-http-" + std::to_string(::getpid());
  HttpServerOptions options;
  options.listen = "unix:" + path;
  { const RecordingServer server(echo, options); }
  const RecordingServer server(echo, options);
  EXPECT_EQ(server.port(), 0);
  EXPECT_THAT(error_of([&] { RecordingServer(echo, options); }),
              AllOf(StartsWith("server: cannot listen on unix:"),
                    EndsWith("a program listens there; end it, or choose another path with --listen")));
  ::unlink(path.c_str());
}

TEST(HttpServer, RefusesAddressesThatItCannotUse) {
  const auto refuse = [](const std::string& address) {
    HttpServerOptions options;
    options.listen = address;
    return error_of([&] { HttpServer(options, {.answer = echo}); });
  };
  EXPECT_EQ(refuse("localhost"), "server: listen is \"localhost\", needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
  EXPECT_EQ(refuse("127.0.0.1:65536"),
            "server: listen is \"127.0.0.1:65536\", needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
  const RecordingServer server;
  const std::string used = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(refuse(used), "server: cannot listen on " + used + ": Address already in use; " + name_of_this_process() +
                              " (process " + std::to_string(::getpid()) +
                              ") listens there; end it, or choose another port with --listen");
  EXPECT_THAT(refuse("192.0.2.1:0"), EndsWith("no network interface of this machine has the address; choose 127.0.0.1, "
                                              "or 0.0.0.0 for all of them"));
  EXPECT_THAT(refuse("unix:/no/such/folder/socket"), EndsWith("the folder does not exist; create it"));
  EXPECT_THAT(refuse("unix:/dev/null"), EndsWith("a file that is no socket is there; choose another path with "
                                                 "--listen"));
}

}  // namespace
}  // namespace edgewise
