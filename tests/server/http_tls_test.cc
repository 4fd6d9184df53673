// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/certificate.h"
#include "tests/server/raw_client.h"
#include "tests/server/recording_server.h"
#include "tests/server/tls_client.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A folder with a certificate and its key, both for one test.
class HttpTls : public testing::Test {
 protected:
  HttpTls() {
    std::string name = std::filesystem::temp_directory_path() / "edgewise-tls-XXXXXX";
    folder_ = mkdtemp(name.data());
    const KeyPointer key = make_elliptic_key();
    options_.certificate = path("certificate.pem");
    options_.key = path("key.pem");
    write_certificate(options_.certificate, make_certificate(key.get()).get());
    write_key(options_.key, key.get());
  }
  ~HttpTls() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  /// Returns the error of a server with these files.
  static std::string refuse(const std::string& certificate, const std::string& key) {
    HttpServerOptions options;
    options.certificate = certificate;
    options.key = key;
    return error_of([&] { RecordingServer(echo, options); });
  }

  std::filesystem::path folder_;
  HttpServerOptions options_;
};

TEST_F(HttpTls, AnswersRequestsOfAConnectionOneAfterAnother) {
  const RecordingServer server(echo, options_);
  for (const int protocol : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server.port(), protocol, protocol);
    EXPECT_EQ(client.protocol(), protocol == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
    EXPECT_THAT(client.ask(get("/a?b=c")), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nGET /a b=c ")));
    EXPECT_THAT(client.ask(post(std::string(200'000, 'a'))), EndsWith(std::string(200'000, 'a')));
    client.send(post("first") + post("second"));
    EXPECT_THAT(client.read_response(), EndsWith("first"));
    EXPECT_THAT(client.read_response(), EndsWith("second"));
  }
}

TEST_F(HttpTls, TellsTheClientThatNothingFollowsTheLastResponse) {
  const RecordingServer server(echo, options_);
  for (const char* request :
       {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "bad\r\n\r\n"}) {
    TlsClient client(server.port());
    EXPECT_THAT(client.ask(request), AnyOf(HasSubstr(" 200 OK"), HasSubstr(" 400 ")));
    EXPECT_TRUE(client.is_ended_by_server());
  }
}

TEST_F(HttpTls, SendsAStreamInChunks) {
  const RecordingServer server(
      [](const std::shared_ptr<HttpExchange>& exchange) {
        exchange->begin_stream({.content_type = "text/event-stream"});
        EXPECT_TRUE(exchange->write("first "));
        EXPECT_TRUE(exchange->write("second"));
        exchange->end_stream();
      },
      options_);
  TlsClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    EXPECT_THAT(client.read_until("0\r\n\r\n"), AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"),
                                                      EndsWith("\r\n\r\n6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")));
  }
}

TEST_F(HttpTls, ClosesTheConnectionOfAClientWithoutTls) {
  RecordingServer server(echo, options_);
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/")), testing::Not(HasSubstr("HTTP")));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(becomes_true([&] { return server->load().connections == 0; }));
  EXPECT_TRUE(TlsClient(server.port()).is_connected());
}

TEST_F(HttpTls, ClosesTheConnectionOfAClientThatStopsInTheHandshake) {
  options_.head_seconds = 0.2;
  const RecordingServer server(echo, options_);
  RawClient silent(server.port());
  RawClient slow(server.port());
  slow.send("\x16\x03\x01");  // the beginning of a handshake
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(slow.is_closed());
}

TEST_F(HttpTls, ClosesConnectionsThatSendTooSlowly) {
  options_.head_seconds = options_.body_seconds = 1;
  const RecordingServer server(echo, options_);
  TlsClient head(server.port());
  TlsClient body(server.port());
  head.send("GET / HT");
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(head.read_response(), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(body.read_response(), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(head.is_ended_by_server());
  EXPECT_TRUE(body.is_ended_by_server());
}

TEST_F(HttpTls, RefusesProtocolsBefore1Point2) {
  const RecordingServer server(echo, options_);
  EXPECT_FALSE(TlsClient(server.port(), TLS1_VERSION, TLS1_VERSION).is_connected());
  EXPECT_FALSE(TlsClient(server.port(), TLS1_1_VERSION, TLS1_1_VERSION).is_connected());
  EXPECT_TRUE(TlsClient(server.port(), TLS1_VERSION, TLS1_2_VERSION).is_connected());
}

TEST_F(HttpTls, ClosesConnectionsBeyondTheLimitOfAClientWithoutAHandshake) {
  options_.max_connections_per_client = 1;
  const RecordingServer server(echo, options_);
  TlsClient first(server.port());
  EXPECT_THAT(first.ask(get("/")), HasSubstr(" 200 OK"));
  EXPECT_FALSE(TlsClient(server.port()).is_connected());
  EXPECT_THAT(first.ask(get("/")), HasSubstr(" 200 OK"));
}

TEST_F(HttpTls, TellsAHandlerThatTheClientHungUp) {
  std::promise<void> abandoned;
  RecordingServer server(
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        auto waited = std::make_shared<std::promise<void>>();
        exchange->on_abandon([&abandoned, waited] {
          abandoned.set_value();
          waited->set_value();
        });
        waited->get_future().wait();
      },
      options_);
  TlsClient client(server.port());
  client.send(get("/"));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 1; }));
  client.close();
  EXPECT_EQ(abandoned.get_future().wait_for(std::chrono::minutes(10)), std::future_status::ready);
  EXPECT_TRUE(becomes_true([&] { return server->load().connections == 0 && server->load().requests == 0; }));
}

TEST_F(HttpTls, SurvivesClientsThatHangUpInTheMiddleOfAResponse) {
  const std::string piece(100'000, 'a');
  RecordingServer server(
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        if (exchange->request().path == "/whole") return exchange->respond({.body = std::string(5'000'000, 'a')});
        exchange->begin_stream({});
        while (exchange->write(piece)) {
        }
      },
      options_);
  for (const char* path : {"/whole", "/stream"}) {
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([&, i] {
        TlsClient client(server.port());
        client.send(get(path));
        client.read_until(std::string(static_cast<std::size_t>(1 + 5000 * i), 'a'));
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(becomes_true([&] { return server->load().connections == 0 && server->load().requests == 0; })) << path;
  }
}

TEST_F(HttpTls, FinishesItsRequestsWhenItDrains) {
  std::promise<void> may_go_on;
  auto wait = may_go_on.get_future().share();
  RecordingServer server(
      [wait](const std::shared_ptr<HttpExchange>& exchange) {
        wait.wait();
        echo(exchange);
      },
      options_);
  TlsClient client(server.port());
  client.send(get("/slow"));
  ASSERT_TRUE(becomes_true([&] { return server->load().requests == 1; }));
  EXPECT_FALSE(server->drain(0.1));
  may_go_on.set_value();
  EXPECT_THAT(client.read_response(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET /slow  ")));
  EXPECT_TRUE(client.is_ended_by_server());
  client.close();
  EXPECT_TRUE(server->drain(600));
}

TEST_F(HttpTls, SendsTheCertificatesOfTheIssuersToo) {
  const KeyPointer key = make_rsa_key();
  const CertificatePointer certificate = make_certificate(key.get());
  write_pem(path("chain.pem"), [&](std::FILE* file) {
    return PEM_write_X509(file, certificate.get()) & PEM_write_X509(file, make_certificate(make_rsa_key().get()).get());
  });
  write_key(path("rsa.pem"), key.get());
  options_.certificate = path("chain.pem");
  options_.key = path("rsa.pem");
  const RecordingServer server(echo, options_);
  EXPECT_EQ(TlsClient(server.port()).num_certificates(), 2);
}

TEST_F(HttpTls, GivesNewConnectionsTheCertificateThatIsReadAgain) {
  RecordingServer server(echo, options_);
  TlsClient before(server.port());
  EXPECT_FALSE(server->reload_certificate());
  const std::string issuer = [&] {
    std::ostringstream text;
    text << std::ifstream(options_.certificate).rdbuf();
    return text.str();
  }();
  std::ofstream(options_.certificate, std::ios::app) << issuer;
  EXPECT_TRUE(server->reload_certificate());
  EXPECT_TRUE(becomes_true([&] { return TlsClient(server.port()).num_certificates() == 2; }));
  EXPECT_THAT(before.ask(get("/a")), EndsWith("GET /a  "));
  write("key.pem", "no key");
  EXPECT_THAT(error_of([&] { server->reload_certificate(); }), HasSubstr("has no usable private key"));
  EXPECT_EQ(TlsClient(server.port()).num_certificates(), 2);
}

TEST_F(HttpTls, RefusesAKeyThatDoesNotBelongToTheCertificate) {
  const auto expected = [&](const std::string& key) {
    return "server: key " + key + " does not belong to the certificate " + options_.certificate +
           ", needs the private key of that certificate";
  };
  write_key(path("other.pem"), make_elliptic_key().get());
  write_key(path("rsa.pem"), make_rsa_key().get());
  EXPECT_EQ(refuse(options_.certificate, path("other.pem")), expected(path("other.pem")));
  EXPECT_EQ(refuse(options_.certificate, path("rsa.pem")), expected(path("rsa.pem")));
}

TEST_F(HttpTls, RefusesAKeyWithAPassword) {
  write_key(path("secret.pem"), make_elliptic_key().get(), "password");
  EXPECT_THAT(refuse(options_.certificate, path("secret.pem")),
              AllOf(StartsWith("server: key " + path("secret.pem") + " has no usable private key ("),
                    EndsWith("), needs one in PEM form without a password")));
}

TEST_F(HttpTls, RefusesFilesThatItCannotRead) {
  const std::string text = write("text.pem", "no certificate");
  EXPECT_THAT(refuse(text, options_.key),
              AllOf(StartsWith("server: certificate " + text + " has no usable certificate ("),
                    EndsWith("), needs one in PEM form")));
  EXPECT_THAT(refuse(options_.certificate, text),
              AllOf(StartsWith("server: key " + text + " has no usable private key ("),
                    EndsWith("), needs one in PEM form without a password")));
  EXPECT_THAT(refuse(options_.certificate, options_.certificate), HasSubstr(" has no usable private key ("));
  const std::string absent = path("absent.pem");
  EXPECT_EQ(refuse(absent, options_.key), "server: " + absent + ": No such file or directory");
  EXPECT_EQ(refuse(options_.certificate, absent), "server: " + absent + ": No such file or directory");
  EXPECT_EQ(refuse(folder_, options_.key),
            "server: " + folder_.string() + " is a directory, needs to be a regular file");
  EXPECT_EQ(refuse(options_.certificate, ""), "server: only one of certificate and key is given, TLS needs both");
  EXPECT_EQ(refuse("", options_.key), "server: only one of certificate and key is given, TLS needs both");
}

}  // namespace
}  // namespace edgewise
