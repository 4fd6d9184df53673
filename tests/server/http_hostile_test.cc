// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/server/raw_client.h"
#include "tests/server/recording_server.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;
using namespace std::string_literals;

/// A whole connection: all bytes of the client, and the status lines of all responses, or their bodies.
struct Conversation {
  std::string name;
  std::string sent;
  std::vector<std::string> responses;  // the status of an error, or the body of a response
};

constexpr std::string_view kLast = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Returns the responses until the server closes the connection.
std::vector<std::string> responses_of(RawClient& client) {
  std::vector<std::string> responses;
  for (std::string response = client.read_response(); !response.empty(); response = client.read_response()) {
    const std::string status = response.substr(std::string_view("HTTP/1.1 ").size(), 3);
    const std::size_t end = response.find("\r\n\r\n");
    responses.push_back(status == "200" ? response.substr(end + 4) : status);
  }
  return responses;
}

std::vector<std::string> responses_to(std::uint16_t port, const std::string& bytes) {
  RawClient client(port);
  client.send(bytes);
  return responses_of(client);
}

std::string head(const std::string& fields) { return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }

std::string line(const std::string& text) { return text + "\r\nHost: a\r\n\r\n"; }

// A refused request ends the connection: the bytes after it could be a part of its body, or a request that somebody
// hid in it.
const std::vector<Conversation> kRefused = {
    // Two lengths, or a length that not all servers read (request smuggling).
    {"chunked", head("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", {"411"}},
    {"chunked in capitals", head("TRANSFER-ENCODING: CHUNKED\r\n") + "0\r\n\r\n", {"411"}},
    {"chunked after length", head("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", {"400"}},
    {"chunked before length", head("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n") + "0\r\n\r\n", {"400"}},
    {"identity", head("Transfer-Encoding: identity\r\nContent-Length: 1\r\n") + "a", {"411"}},
    {"unknown coding", head("Transfer-Encoding: xchunked\r\n"), {"411"}},
    {"two codings", head("Transfer-Encoding: gzip, chunked\r\n"), {"411"}},
    {"coding twice", head("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), {"400"}},
    {"empty coding", head("Transfer-Encoding:\r\nContent-Length: 1\r\n") + "a", {"411"}},
    {"chunked of HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {"411"}},
    {"space before colon", head("Transfer-Encoding : chunked\r\n"), {"400"}},
    {"space before name", "POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n", {"400"}},
    {"vertical tab in coding", head("Transfer-Encoding:\vchunked\r\n"), {"400"}},
    {"NUL in name", head("Transfer-Encoding\0: chunked\r\n"s), {"400"}},
    {"hidden behind CR", head("X: a\rTransfer-Encoding: chunked\r\n"), {"400"}},
    {"hidden behind LF", head("X: a\nTransfer-Encoding: chunked\r\n"), {"400"}},
    {"same length twice", head("Content-Length: 1\r\nContent-Length: 1\r\n") + "a", {"400"}},
    {"two lengths", head("Content-Length: 1\r\nContent-Length: 2\r\n") + "a", {"400"}},
    {"list of lengths", head("Content-Length: 1, 1\r\n") + "a", {"400"}},
    {"negative length", head("Content-Length: -1\r\n"), {"400"}},
    {"length with plus", head("Content-Length: +1\r\n") + "a", {"400"}},
    {"length with minus zero", head("Content-Length: -0\r\n"), {"400"}},
    {"hexadecimal length", head("Content-Length: 0x1\r\n") + "a", {"400"}},
    {"length with fraction", head("Content-Length: 1.0\r\n") + "a", {"400"}},
    {"length with space", head("Content-Length: 1 0\r\n") + "a", {"400"}},
    {"empty length", head("Content-Length:\r\n"), {"400"}},
    {"length above 64 bits", head("Content-Length: 99999999999999999999\r\n"), {"400"}},
    {"length of exactly 2^64", head("Content-Length: 18446744073709551616\r\n"), {"400"}},
    {"length just below 2^64", head("Content-Length: 18446744073709551615\r\n"), {"413"}},
    {"space before colon of length", head("Content-Length : 1\r\n") + "a", {"400"}},
    // Line ends and fields.
    {"folded field", head("X: a\r\n b\r\nContent-Length: 0\r\n"), {"400"}},
    {"field folded by tab", head("X: a\r\n\tb\r\n"), {"400"}},
    {"line feeds alone", "POST / HTTP/1.1\nHost: a\nContent-Length: 0\n\n", {"400"}},
    {"one line feed alone", "GET / HTTP/1.1\r\nHost: a\n\r\n", {"400"}},
    {"carriage return in a value", head("X: a\rb\r\n"), {"400"}},
    {"carriage return in the target", line("GET /a\rb HTTP/1.1"), {"400"}},
    {"empty line before the request", "\r\n" + get("/"), {"400"}},
    {"field without colon", head("X\r\n"), {"400"}},
    {"field without name", head(": a\r\n"), {"400"}},
    {"name with a space", head("X Y: a\r\n"), {"400"}},
    {"name with a bracket", head("X(Y): a\r\n"), {"400"}},
    {"name with a byte above ASCII", head("X\xE9: a\r\n"), {"400"}},
    {"delete character", head("X: \x7f\r\n"), {"400"}},
    // Host.
    {"no Host", "GET / HTTP/1.1\r\n\r\n", {"400"}},
    {"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", {"400"}},
    {"same Host twice", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", {"400"}},
    {"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", {"400"}},
    {"Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", {"400"}},
    {"Host with a user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", {"400"}},
    {"list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", {"400"}},
    // Request lines.
    {"HTTP/0.9", "GET /\r\n\r\n", {"400"}},
    {"HTTP/0.9 with a version", line("GET / HTTP/0.9"), {"400"}},
    {"HTTP/1.2", line("GET / HTTP/1.2"), {"400"}},
    {"HTTP/2.0", line("GET / HTTP/2.0"), {"400"}},
    {"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {"400"}},
    {"version in lower case", line("GET / http/1.1"), {"400"}},
    {"version with a space", line("GET / HTTP/1.1 "), {"400"}},
    {"version with two digits", line("GET / HTTP/1.10"), {"400"}},
    {"two spaces before the target", line("GET  / HTTP/1.1"), {"400"}},
    {"two spaces after the target", line("GET /  HTTP/1.1"), {"400"}},
    {"tabs in place of spaces", line("GET\t/\tHTTP/1.1"), {"400"}},
    {"space before the method", line(" GET / HTTP/1.1"), {"400"}},
    {"no method", line("/ HTTP/1.1"), {"400"}},
    {"no target", line("GET HTTP/1.1"), {"400"}},
    {"method alone", line("GET"), {"400"}},
    {"bracket in the method", line("G(T / HTTP/1.1"), {"400"}},
    {"space in the target", line("GET /a b HTTP/1.1"), {"400"}},
    {"NUL in the target", line("GET /\0 HTTP/1.1"s), {"400"}},
    {"fragment in the target", line("GET /a#b HTTP/1.1"), {"400"}},
    {"target without a slash", line("GET a HTTP/1.1"), {"400"}},
    {"authority form", line("CONNECT a:443 HTTP/1.1"), {"400"}},
    {"authority form of GET", line("GET a:443 HTTP/1.1"), {"400"}},
    {"absolute form of another scheme", line("GET ftp://a/b HTTP/1.1"), {"400"}},
    {"absolute form without a host", line("GET http:///b HTTP/1.1"), {"400"}},
    {"absolute form without anything", line("GET http:// HTTP/1.1"), {"400"}},
    {"handshake of TLS", "\x16\x03\x01\x02\x01\x01\r\n\r\n", {"400"}},
    {"unknown expectation", head("Expect: coffee\r\nContent-Length: 0\r\n"), {"417"}},
    {"two expectations", head("Expect: 100-continue\r\nExpect: coffee\r\n"), {"417"}},
    {"method of 20 000 bytes", line(std::string(20'000, 'A') + " / HTTP/1.1"), {"431"}},
    {"target of 20 000 bytes", line("GET /" + std::string(20'000, 'a') + " HTTP/1.1"), {"431"}},
    {"field of 20 000 bytes", head("X: " + std::string(20'000, 'a') + "\r\n"), {"431"}},
    {"ten thousand fields",
     head([] {
       std::string fields;
       for (int i = 0; i < 10'000; ++i) fields += "X: a\r\n";
       return fields;
     }()),
     {"431"}},
};

TEST(HostileClients, GetAnErrorAndTheEndOfTheConnectionForARequestThatServersMayReadDifferently) {
  RecordingServer server;
  for (const auto& [name, sent, responses] : kRefused) {
    EXPECT_EQ(responses_to(server.port(), sent + get("/hidden")), responses) << name;
  }
  ASSERT_TRUE(becomes_true([&] { return server.records().size() == kRefused.size(); }));
}

const std::vector<Conversation> kAccepted = {
    {"parent folders", get("/../../etc/passwd"), {"GET /../../etc/passwd  "}},
    {"encoded parent folders", get("/%2e%2e/%2E%2E/a"), {"GET /%2e%2e/%2E%2E/a  "}},
    {"encoded NUL", get("/a%00b"), {"GET /a%00b  "}},
    {"malformed percent sign", get("/%zz?%"), {"GET /%zz % "}},
    {"bytes above ASCII", get("/\xE9?\xC3\xA9"), {"GET /\xE9 \xC3\xA9 "}},
    {"absolute form", line("GET http://b/c?d HTTP/1.1"), {"GET /c d "}},
    {"absolute form in capitals", line("GET HTTP://b/c HTTP/1.1"), {"GET /c  "}},
    {"absolute form without a path", line("GET http://b HTTP/1.1"), {"GET /  "}},
    {"asterisk form", line("OPTIONS * HTTP/1.1"), {"OPTIONS *  "}},
    {"method of 200 bytes", line(std::string(200, 'A') + " / HTTP/1.1"), {std::string(200, 'A') + " /  "}},
    {"method in lower case", line("get / HTTP/1.1"), {"get /  "}},
    {"upgrade to HTTP/2",
     "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n",
     {"GET /a  "}},
    {"upgrade to WebSocket",
     "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
     {"GET /a  "}},
    {"length with zeros", head("Content-Length: 0001\r\n") + "a", {"POST /  a"}},
    {"length with spaces around it", head("Content-Length: \t1 \r\n") + "a", {"POST /  a"}},
    {"length that Connection names", head("Connection: Content-Length\r\nContent-Length: 1\r\n") + "a", {"POST /  a"}},
    {"other name for the length", head("Content_Length: 5\r\nContent-Length: 1\r\n") + "a", {"POST /  a"}},
    {"request in a body", post(get("/hidden")), {"POST /  " + get("/hidden")}},
    {"body of GET", "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", {"GET /a  hi"}},
    {"empty Host", "GET /a HTTP/1.1\r\nHost:\r\n\r\n", {"GET /a  "}},
    {"Host with a port", "GET /a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", {"GET /a  "}},
    {"expectation", head("Expect: 100-Continue\r\nContent-Length: 1\r\n") + "a", {"100", "POST /  a"}},
    {"requests at once", get("/a") + post("b") + get("/c"), {"GET /a  ", "POST /  b", "GET /c  "}},
};

TEST(HostileClients, GetTheirResponseForARequestThatAllServersReadAlike) {
  const RecordingServer server;
  for (const auto& [name, sent, responses] : kAccepted) {
    std::vector<std::string> expected = responses;
    expected.emplace_back("GET /last  ");
    EXPECT_EQ(responses_to(server.port(), sent + std::string(kLast)), expected) << name;
  }
}

TEST(HostileClients, GetNoConnectionBackThatAnOldVersionEnds) {
  const RecordingServer server;
  EXPECT_THAT(responses_to(server.port(), "GET /a HTTP/1.0\r\n\r\n" + get("/hidden")),
              testing::ElementsAre("GET /a  "));
}

TEST(HostileClients, GetAllResponsesToAThousandRequestsAtOnce) {
  const RecordingServer server;
  RawClient client(server.port());
  std::string requests;
  std::vector<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    requests += get("/" + std::to_string(i));
    expected.push_back("GET /" + std::to_string(i) + "  ");
  }
  std::thread sender([&] { client.send(requests + std::string(kLast)); });
  expected.emplace_back("GET /last  ");
  EXPECT_EQ(responses_of(client), expected);
  sender.join();
}

TEST(HostileClients, GetTheSameErrorForAHeadThatIsTooLongBehindAnotherRequest) {
  HttpServerOptions options;
  options.max_head = 1000;
  const RecordingServer server(echo, options);
  const std::string requests = post(std::string(100, 'a')) + get("/" + std::string(2000, 'b'));
  EXPECT_THAT(responses_to(server.port(), requests), testing::ElementsAre("POST /  " + std::string(100, 'a'), "431"));
}

constexpr std::size_t kMostSentBytes = 100'000'000;  // the server reserves the memory for a whole body

/// Sends bytes without a pause, but at most kMostSentBytes, until the server answers. Returns the response.
std::string response_while_sending(std::uint16_t port, const std::string& begin) {
  RawClient client(port);
  client.send(begin);
  const std::string bytes(1000, 'a');
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  for (std::size_t sent = 0; !client.has_response() && std::chrono::steady_clock::now() < deadline;) {
    if (sent < kMostSentBytes) client.send(bytes);
    sent += bytes.size();
  }
  return client.read_response();
}

TEST(HostileClients, GetAnErrorInTimeHoweverMuchTheySend) {
  HttpServerOptions options;
  options.head_seconds = options.body_seconds = 0.1;
  options.max_head = std::int64_t{1} << 30;
  options.max_body = std::int64_t{1} << 40;
  const RecordingServer server(echo, options);
  for (int repetition = 0; repetition < 10; ++repetition) {
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        const std::string begin = head(fmt::format("Content-Length: {}\r\n", 2 * kMostSentBytes));
        EXPECT_THAT(response_while_sending(server.port(), begin), StartsWith("HTTP/1.1 408 "));
      });
    }
    for (std::thread& client : clients) client.join();
  }
}

TEST(HostileClients, LeaveRoomForOtherAddressesWhateverTheyHold) {
  HttpServerOptions options;
  options.max_connections = 8;
  options.max_connections_per_client = 4;
  RecordingServer server(echo, options);
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(std::make_unique<RawClient>(server.port()));
    held.back()->send("GET / HT");
  }
  ASSERT_TRUE(becomes_true([&] { return server->load().connections == 4; }));
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(RawClient(server.port()).ask(get("/")), StartsWith("HTTP/1.1 429 ")) << i;
  }
  RawClient other(server.port(), "127.0.0.2");
  EXPECT_THAT(other.ask(get("/a")), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("GET /a  ")));
}

}  // namespace
}  // namespace edgewise
