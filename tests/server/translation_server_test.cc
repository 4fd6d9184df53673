// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/translation_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"
#include "tests/server/certificate.h"
#include "tests/server/copying_server.h"
#include "tests/server/raw_client.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// A server on a free port, which keeps its reports.
class ReloadedServer : public testing::Test {
 protected:
  ReloadedServer() { config_.http.listen = "127.0.0.1:0"; }

  void start() {
    config_.server.models = {"en-de=one"};
    const auto report = [this](std::string_view line) { reports_.emplace_back(line); };
    server_.emplace(config_, ServerLogs{.report = report, .access = {}}, copying_loader());
  }

  std::vector<std::string> reload() {
    reports_.clear();
    server_->reload(config_);
    return reports_;
  }

  /// Returns the status line of a translation with a key.
  std::string translate(const std::string& key) {
    RawClient client(server_->port());
    const std::string form = "q=a&source=en&target=de&api_key=" + key;
    return client
        .ask(fmt::format("POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                         "Content-Length: {}\r\n\r\n{}",
                         form.size(), form))
        .substr(0, 12);
  }

  ServerConfig config_;
  std::vector<std::string> reports_;
  std::optional<TranslationServer> server_;
};

TEST_F(ReloadedServer, TakesTheKeysOfTheNewConfig) {
  config_.server.api_keys = {"old"};
  start();
  EXPECT_THAT(reload(), IsEmpty());
  config_.server.api_keys = {"alice new 100", "other"};
  EXPECT_THAT(reload(), ElementsAre("reload: the API keys are replaced"));
  EXPECT_EQ(translate("new"), "HTTP/1.1 200");
  EXPECT_EQ(translate("old"), "HTTP/1.1 403");
  EXPECT_THAT(reload(), IsEmpty());
}

TEST_F(ReloadedServer, KeepsItsKeysIfTheNewConfigIsWrong) {
  config_.server.api_keys = {"old"};
  start();
  config_.server.api_keys = {""};
  EXPECT_THAT(reload(), ElementsAre("reload: the API keys stay as they were: server: server.api_keys has an empty key, "
                                    "needs characters"));
  EXPECT_EQ(translate("old"), "HTTP/1.1 200");
}

TEST_F(ReloadedServer, NamesTheOptionsThatNeedANewStart) {
  start();
  config_.http.max_body = 1000;
  config_.server.characters = 7;
  EXPECT_THAT(reload(),
              ElementsAre("reload: server.characters needs a new start", "reload: http.max_body needs a new start"));
}

TEST_F(ReloadedServer, KeepsItsCertificateIfTheNewOneIsWrong) {
  const TemporaryFolder folder;
  const KeyPointer key = make_elliptic_key();
  config_.http.certificate = folder / "certificate.pem";
  config_.http.key = folder / "key.pem";
  write_certificate(config_.http.certificate, make_certificate(key.get()).get());
  write_key(config_.http.key, key.get());
  start();
  EXPECT_THAT(reload(), IsEmpty());
  const KeyPointer other = make_elliptic_key();
  write_certificate(config_.http.certificate, make_certificate(other.get()).get());
  EXPECT_THAT(reload(), ElementsAre(StartsWith("reload: the certificate stays as it was: server: key ")));
  write_key(config_.http.key, other.get());
  EXPECT_THAT(reload(), ElementsAre("reload: new connections get the new certificate"));
  EXPECT_THAT(reload(), IsEmpty());
}

TEST(EchoedValue, IsShortWhateverTheClientSends) {
  constexpr std::size_t kMostBytes = 1000;
  CopyingServer server;
  const std::vector<std::string> names = {
      "q",           "text",         "source",       "target",          "source_lang", "format",      "target_lang",
      "line_breaks", "attention",    "token_ranges", "stream",          "formality",   "glossary_id", "auth_key",
      "api_key",     "tag_handling", "alternatives", "split_sentences", "type"};
  const std::string right = "q=a&text=a&source=en&target=de&source_lang=EN&target_lang=DE";
  for (const std::string path : {"/translate", "/v1/translate", "/v2/translate", "/v2/languages", "/detect"}) {
    for (const std::string& name : names) {
      for (const std::string& value : std::vector{std::string(10'000, 'a'), std::string(10'000, '1')}) {
        std::string form;
        for (const FormField& field : parse_urlencoded(right, "form")) {
          if (field.name != name) form += field.name + "=" + field.value + "&";
        }
        const HttpResponse response = server.post_form(path, form + name + "=" + value);
        const bool is_translated = response.status == 200 || name == "q" || name == "text";
        EXPECT_TRUE(is_translated || response.body.size() < kMostBytes) << path << " " << name;
      }
    }
    for (const std::string& body :
         {"{\"" + std::string(10'000, 'a') + "\": 1, \"" + std::string(10'000, 'a') + "\": 1}",
          std::string(10'000, 'a'), "{\"source\": " + std::string(10'000, '1') + "}"}) {
      EXPECT_LT(server.post_json(path, body).body.size(), kMostBytes) << path;
    }
    for (const char* type : {"", "application/json; charset=", "application/json; "}) {
      const HttpResponse response = server.respond({.method = "POST",
                                                    .path = path,
                                                    .headers = {{"Content-Type", type + std::string(10'000, 'a')}},
                                                    .body = "{}"});
      EXPECT_LT(response.body.size(), kMostBytes) << path << type;
    }
  }
}

}  // namespace
}  // namespace edgewise
