// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/server/raw_client.h"
#include "tests/server/recording_server.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string head_request(const std::string& target, const std::string& version = "1.1") {
  return "HEAD " + target + " HTTP/" + version + "\r\nHost: a\r\n\r\n";
}

/// Sends a request and another one after it. Returns the head of the first response, which must have no body: the
/// second response must follow it.
std::string ask_for_head(std::uint16_t port, const std::string& request) {
  RawClient client(port);
  client.send(request + get("/next"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n")) << request;
  return head;
}

std::string without_date(const std::string& head) {
  const std::size_t begin = head.find("Date: ");
  return begin == std::string::npos ? head : head.substr(0, begin) + head.substr(head.find("\r\n", begin) + 2);
}

void stream_or_echo(const std::shared_ptr<HttpExchange>& exchange) {
  if (exchange->request().path != "/stream") return echo(exchange);
  exchange->begin_stream({.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}});
  exchange->write("piece");
  exchange->end_stream();
}

TEST(HttpBodies, AreLeftOutOfTheResponseToHeadWhoseHeadersAreThoseOfGet) {
  RecordingServer server(stream_or_echo);
  for (const char* path : {"/a", "/stream"}) {
    RawClient client(server.port());
    client.send(get(path));
    std::string head = without_date(client.read_until("\r\n\r\n"));
    const std::size_t size = head.find("Content-Length: 8\r\n");  // of "GET /a  "; the body of HEAD would have 9 bytes
    if (size != std::string::npos) head.replace(size, 19, "Content-Length: 9\r\n");
    client.read_until(path == std::string_view("/stream") ? "\r\n0\r\n\r\n" : "GET /a  ");
    EXPECT_EQ(without_date(ask_for_head(server.port(), head_request(path))), head);
  }
  ASSERT_TRUE(becomes_true([&] { return server.records().size() == 6; }));
  for (const HttpRecord& record : server.records()) EXPECT_EQ(record.response_bytes == 0, record.method == "HEAD");
}

TEST(HttpBodies, AreLeftOutOfTheResponseToHeadOfAnOldClient) {
  const RecordingServer server(stream_or_echo);
  for (const char* path : {"/a", "/stream"}) {
    RawClient client(server.port());
    client.send(head_request(path, "1.0"));
    EXPECT_THAT(client.read_all(),
                AllOf(StartsWith("HTTP/1.0 200 OK\r\n"), EndsWith("\r\n\r\n"), Not(HasSubstr("Transfer-Encoding"))));
  }
}

TEST(HttpBodies, FollowTheErrorOfARequestBehindHead) {
  const RecordingServer server;
  RawClient client(server.port());
  client.send(head_request("/a"));
  client.read_until("\r\n\r\n");
  EXPECT_THAT(client.ask("bad\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 400 "), EndsWith("}")));
}

TEST(HttpBodies, AndTheirLengthsAreLeftOutOf204And304) {
  const RecordingServer server([](const std::shared_ptr<HttpExchange>& exchange) {
    const std::string& path = exchange->request().path;
    if (path == "/next") return echo(exchange);
    const int status = exchange->request().query == "204" ? 204 : 304;
    if (path == "/empty") return exchange->respond({.status = status, .content_type = ""});
    if (path == "/full") return exchange->respond({.status = status, .body = "text"});
    exchange->begin_stream({.status = status});
    exchange->write("text");
    exchange->end_stream();
  });
  for (const char* path : {"/empty", "/full", "/stream"}) {
    for (const char* status : {"204", "304"}) {
      for (const std::string& request :
           {get(std::string(path) + "?" + status), head_request(std::string(path) + "?" + status)}) {
        const std::string head = ask_for_head(server.port(), request);
        EXPECT_THAT(head, StartsWith("HTTP/1.1 " + std::string(status)));
        EXPECT_THAT(head, Not(HasSubstr("Content-"))) << request;
        EXPECT_THAT(head, Not(HasSubstr("Transfer-Encoding"))) << request;
      }
    }
  }
}

TEST(HttpBodies, OfStreamsWithoutAnEndAreCutOff) {
  const RecordingServer server([](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->begin_stream({});
    exchange->write("piece");
    if (exchange->request().path == "/throw") throw std::runtime_error("disk on fire");
  });
  for (const char* path : {"/throw", "/forget"}) {
    RawClient client(server.port());
    client.send(get(path));
    EXPECT_THAT(client.read_all(), Not(HasSubstr("\r\n0\r\n\r\n"))) << path;
    EXPECT_TRUE(client.is_closed()) << path;
  }
}

}  // namespace
}  // namespace edgewise
