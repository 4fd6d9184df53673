// SPDX-License-Identifier: Apache-2.0
// Clients that receive their answers slowly or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/server/http_shared.h"
#include "tests/server/raw_client.h"
#include "tests/server/recording_server.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kMegabyte = 1'000'000;  // the buffers of a connection hold some of them

/// Answers with as many megabytes as the query says, as a stream for the path /stream.
void send_megabytes(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  if (request.query.empty()) return echo(exchange);
  const std::size_t count = std::stoul(request.query);
  if (request.path != "/stream") return exchange->respond({.body = std::string(count * kMegabyte, 'a')});
  exchange->begin_stream({});
  for (std::size_t i = 0; i < count; ++i) {
    if (!exchange->write(std::string(kMegabyte, 'a'))) return;
  }
  exchange->end_stream();
}

bool is_probe(const HttpRequest& request) { return request.path == "/health"; }

TEST(SlowReader, OfAStreamHoldsNoHandler) {
  HttpServerOptions options;
  options.max_requests = 1;
  RecordingServer server(send_megabytes, options);
  RawClient slow(server.port());
  slow.send(get("/stream?40"));
  slow.read_until("\r\n\r\n");
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 0; }));
  EXPECT_THAT(RawClient(server.port()).ask(get("/a")), EndsWith("GET /a  "));
  EXPECT_GT(slow.read_until("\r\n0\r\n\r\n").size(), 40 * kMegabyte);
}

TEST(SlowReader, OfAStreamIsCutOffHoweverOftenItReads) {
  HttpServerOptions options;
  options.request_seconds = options.write_seconds = 0.1;
  std::promise<void> ended;
  RecordingServer server(
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        exchange->begin_stream({});
        while (exchange->write("a")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ended.set_value();
      },
      options);
  RawClient client(server.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200 OK"));
  ended.get_future().wait();
  EXPECT_TRUE(becomes_true([&] { return server.records().size() == 1; }));
  EXPECT_TRUE(server.records().front().was_abandoned);
}

TEST(SlowReader, WithTheMostUnsentBytesOfAllClientsIsCutOff) {
  HttpServerOptions options;
  options.max_unsent = 90 * kMegabyte;
  RecordingServer server(send_megabytes, options);
  RawClient large(server.port());
  RawClient other(server.port(), "127.0.0.2");
  RawClient small(server.port());
  for (const auto& [client, request] :
       {std::pair(&large, "/?50"), std::pair(&other, "/?30"), std::pair(&small, "/stream?20")}) {
    client->send(get(request));
    client->read_until("\r\n\r\n");
  }
  EXPECT_LT(large.read_all().size(), 50 * kMegabyte);
  EXPECT_EQ(other.read_until(std::string(kMegabyte, 'a')).size(), kMegabyte);
  EXPECT_GT(small.read_until("\r\n0\r\n\r\n").size(), 20 * kMegabyte);
  EXPECT_EQ(server.records().front().client, "127.0.0.1");
  EXPECT_TRUE(server.records().front().was_abandoned);
}

TEST(Probe, IsAnsweredWhileAllHandlersWork) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  HttpServerOptions options;
  options.max_requests = 1;
  RecordingServer server(
      [wait](const std::shared_ptr<HttpExchange>& exchange) {
        if (exchange->request().path == "/slow") wait.wait();
        echo(exchange);
      },
      options, is_probe);
  RawClient slow(server.port());
  slow.send(get("/slow"));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 1; }));
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/a")), StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(client.ask(get("/health")), EndsWith("GET /health  "));
  EXPECT_EQ(server->load().requests, 1);
  may_go_on.set_value();
  EXPECT_THAT(slow.read_response(), EndsWith("GET /slow  "));
}

TEST(Probe, IsAnsweredOnAConnectionBeyondTheLimits) {
  HttpServerOptions options;
  options.max_connections_per_client = 1;
  RecordingServer server(echo, options, is_probe);
  RawClient first(server.port());
  EXPECT_THAT(first.ask(get("/a")), StartsWith("HTTP/1.1 200 "));
  RawClient probe(server.port());
  EXPECT_THAT(probe.ask(get("/health")), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close\r\n")));
  EXPECT_TRUE(probe.is_closed());
  for (const std::string& request : {get("/a"), post("a"), std::string("bad\r\n\r\n"), std::string()}) {
    EXPECT_THAT(RawClient(server.port()).ask(request), StartsWith("HTTP/1.1 429 ")) << request;
  }
}

TEST(Probe, IsAnsweredWith500IfItsHandlerFails) {
  RecordingServer server([](const std::shared_ptr<HttpExchange>&) { throw std::bad_alloc(); }, {}, is_probe);
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(client.ask(get("/health")), StartsWith("HTTP/1.1 500 "));
}

TEST(ForwardedFor, IsOneListInAllItsLines) {
  HttpServerOptions options;
  options.trusted_proxies = {"127.0.0.1"};
  RecordingServer server(echo, options);
  RawClient client(server.port());
  client.ask("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.77\r\nx-forwarded-for: 203.0.113.9\r\n\r\n");
  ASSERT_TRUE(becomes_true([&] { return server.records().size() == 1; }));
  EXPECT_EQ(server.records().front().client, "203.0.113.9");
}

/// A connection without a socket.
struct FakeConnection final : ClosableConnection {
  void close_if_idle() override {}
  void close() override {}
  std::int64_t unsent_bytes() const override { return 0; }
  const std::string& client() const override { return name; }
  std::string name = {};
};

TEST(ConnectionLimit, OfAClientCountsItsNetworkOf64Bits) {
  HttpShared shared({.max_connections_per_client = 2, .max_requests = 1}, {});
  FakeConnection connections[2];
  shared.add(&connections[0], "2001:db8:1:2::1");
  shared.add(&connections[1], "2001:db8:1:2:3:4:5:6");
  EXPECT_EQ(shared.surplus_connections("2001:db8:1:2::7"), 0);
  EXPECT_LT(shared.surplus_connections("2001:db8:1:3::1"), 0);
  shared.remove(&connections[0], "2001:db8:1:2::1");
  EXPECT_LT(shared.surplus_connections("2001:db8:1:2::7"), 0);
  shared.remove(&connections[1], "2001:db8:1:2:3:4:5:6");
}

}  // namespace
}  // namespace edgewise
