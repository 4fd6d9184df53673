// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "edgewise/server/endpoints.h"
#include "edgewise/server/served_files.h"
#include "tests/base/support.h"
#include "tests/server/copying_server.h"
#include "tests/support/browser.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Returns the texts that the first group of a pattern matches.
std::set<std::string> list_matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1].str());
  }
  return found;
}

/// Returns the paths of all files that are reached from the pages, which name each other.
std::set<std::string> list_reached_paths(CopyingServer& server) {
  std::set<std::string> reached = {"/", "/./", "/docs"};
  std::vector<std::string> waiting;
  for (const char* path : {"/", "/docs"}) {
    const std::set<std::string> names = list_matches(server.get(path).body, R"re((?:href|src)="([^"]+)")re");
    for (const std::string& name : names) waiting.push_back("/" + name);
  }
  while (!waiting.empty()) {
    const std::string path = waiting.back();
    waiting.pop_back();
    if (!reached.insert(path).second) continue;
    const HttpResponse response = server.get(path);
    EXPECT_EQ(response.status, 200) << path;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const std::string& name : list_matches(response.body, R"re(from "\./([^"]+)")re")) {
      waiting.push_back(folder + name);
    }
  }
  return reached;
}

TEST(Page, IsServedWithAllFilesThatItNames) {
  CopyingServer server;
  const std::set<std::string> reached = list_reached_paths(server);
  EXPECT_THAT(reached, testing::IsSupersetOf(
                           {"/", "/docs", "/page.css", "/page.js", "/page.svg", "/page/docs.js", "/page/server.js"}));
  EXPECT_EQ(reached.size(), server_page_files().size() + 1) << "a file is not used";
}

TEST(Page, NamesTheTypesOfItsFiles) {
  CopyingServer server;
  EXPECT_EQ(server.get("/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(server.get("/page.css").content_type, "text/css; charset=utf-8");
  EXPECT_EQ(server.get("/page.js").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(server.get("/page/words.js").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(server.get("/page.svg").content_type, "image/svg+xml");
}

TEST(Page, AllowsOnlyFilesAndRequestsOfItsServer) {
  CopyingServer server;
  for (const char* path : {"/", "/page.css", "/page.js", "/page.svg"}) {
    const HttpResponse response = server.get(path);
    const std::string policy = header_of(response, "Content-Security-Policy");
    EXPECT_THAT(policy, testing::StartsWith("default-src 'none'; connect-src 'self'; ")) << path;
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << path;
    EXPECT_THAT(policy, Not(HasSubstr("http"))) << path;
    EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(header_of(response, "Referrer-Policy"), "no-referrer") << path;
  }
  EXPECT_THAT(server.get("/").body, Not(testing::ContainsRegex(R"(<style| style=| on[a-z]+=|<script>|https?://)")));
}

TEST(Page, IsSentAgainOnlyIfItHasChanged) {
  CopyingServer server;
  const HttpResponse page = server.get("/");
  const std::string etag = header_of(page, "ETag");
  EXPECT_THAT(etag, testing::MatchesRegex("\"[0-9a-f]{16}\""));
  EXPECT_EQ(header_of(page, "Cache-Control"), "no-cache");
  EXPECT_NE(etag, header_of(server.get("/page.js"), "ETag"));
  const auto ask = [&](const std::string& known) {
    return server.respond({.method = "GET", .path = "/", .headers = {{"If-None-Match", known}}});
  };
  for (const std::string& known : {etag, "W/" + etag, "\"a\", " + etag, std::string("*")}) {
    const HttpResponse response = ask(known);
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(header_of(response, "ETag"), etag);
  }
  EXPECT_EQ(ask("\"0123456789abcdef\"").body, page.body);
}

TEST(Page, AnswersHeadAndRefusesPost) {
  CopyingServer server;
  EXPECT_EQ(server.respond({.method = "HEAD", .path = "/"}).status, 200);
  EXPECT_EQ(server.respond({.method = "POST", .path = "/"}).status, 405);
}

TEST(Page, SaysHowManyAlternativesTheServerAllows) {
  CopyingServer server({.alternatives = 2});
  const HttpResponse response = server.get("/page/settings.json");
  EXPECT_EQ(response.body, R"({"alternatives": 2})");
  EXPECT_EQ(header_of(response, "Cache-Control"), "no-store");
}

TEST(Page, IsValidHtml) {
  if (!has_validators()) GTEST_SKIP() << "the validators are not installed; make test-pages installs them";
  CopyingServer server;
  const TemporaryFolder folder;
  std::ofstream(folder / "page.html", std::ios::binary) << server.get("/").body;
  EXPECT_EQ(list_html_errors(folder / "page.html"), "");
}

}  // namespace
}  // namespace edgewise
