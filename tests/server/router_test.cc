// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "edgewise/base/ascii.h"
#include "edgewise/base/device_failure.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/base/version.h"
#include "edgewise/server/http.h"
#include "tests/server/copying_server.h"

namespace edgewise {
namespace {

using std::string_literals::operator""s;

TEST(Router, AnswersAnUnknownPathWith404) {
  CopyingServer server;
  const HttpResponse response = server.get("/translate/");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, R"({"error": "Not Found"})");
}

TEST(Router, AnswersAnotherMethodWith405) {
  CopyingServer server;
  const HttpResponse response = server.get("/translate");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.body, R"({"error": "Method Not Allowed"})");
  EXPECT_EQ(header_of(response, "Allow"), "OPTIONS, POST");
  EXPECT_EQ(header_of(server.post_form("/health", ""), "Allow"), "OPTIONS, GET, HEAD");
  EXPECT_EQ(server.get("/v2/translate").body, R"({"message": "Method Not Allowed"})");
}

TEST(Router, AnswersHeadAsGet) {
  CopyingServer server;
  const HttpResponse response = server.respond({.method = "HEAD", .path = "/health"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"status": "ok"})");
}

TEST(Router, AnswersThePreflightRequestsOfBrowsers) {
  CopyingServer server;
  const HttpResponse response = server.respond({.method = "OPTIONS", .path = "/translate"});
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(header_of(response, "Allow"), "OPTIONS, POST");
}

TEST(CorsHeaders, LetOnlyPagesOfTheOriginUseTheServer) {
  EXPECT_EQ(cors_headers("https://a.example").at(0).value, "https://a.example");
  EXPECT_TRUE(cors_headers("").empty());
}

TEST(Router, AnswersTheErrorsOfHandlers) {
  CopyingServer server;
  std::string log;
  server.state.log = [&](std::string_view line) { log += line; };
  const auto add = [&](const std::string& path, auto function) {
    server.router.add("GET", path, [function](ServerState&, HttpExchange&) { function(); });
  };
  add("/error", [] { fail("x: a is 1, needs 2"); });
  add("/request-error", [] { throw RequestError(418, "tea", {{"Retry-After", "3"}}); });
  add("/bug", [] { throw std::logic_error("secret"); });
  add("/gone", [] { throw StopException(); });
  EXPECT_EQ(server.get("/error").status, 400);
  EXPECT_EQ(server.get("/error").body, R"({"error": "x: a is 1, needs 2"})");
  EXPECT_EQ(server.get("/request-error").status, 418);
  EXPECT_EQ(header_of(server.get("/request-error"), "Retry-After"), "3");
  EXPECT_EQ(server.get("/bug").status, 500);
  EXPECT_EQ(server.get("/bug").body, R"({"error": "Internal Server Error"})");
  EXPECT_EQ(log, "/bug: secret/bug: secret");
  EXPECT_EQ(server.get("/gone").status, 0);
}

TEST(AccessLog, HasNoTextOfUsers) {
  const CopyingServer server;
  const auto line_of = [&](const std::string& method, const std::string& path) {
    const HttpRecord record{.client = "1.2.3.4", .method = method, .path = path, .status = 404, .request_bytes = 6};
    return access_log_line(record, server.router.endpoint(path));
  };
  const std::string other = line_of("secret", "/secret");
  EXPECT_THAT(other, testing::Not(testing::HasSubstr("secret")));
  const auto json = nlohmann::json::parse(other);
  EXPECT_EQ(json["client"], "1.2.3.4");
  EXPECT_EQ(json["method"], "other");
  EXPECT_EQ(json["endpoint"], "other");
  EXPECT_EQ(json["status"], 404);
  EXPECT_EQ(json["request_bytes"], 6);
  EXPECT_THAT(json["time"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
  EXPECT_EQ(nlohmann::json::parse(line_of("POST", "/translate"))["endpoint"], "/translate");
}

TEST(Operation, DescribesAllEndpointsButTheFilesOfThePage) {
  CopyingServer server;
  std::map<std::string, std::vector<std::string>> described;
  const auto spec = nlohmann::json::parse(server.get("/spec").body);
  for (const auto& [path, methods] : spec["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) described[path].push_back(upper_ascii(method));
  }
  auto endpoints = server.router.endpoints();
  std::erase_if(endpoints, [](const auto& each) {
    return each.first == "/" || each.first == "/docs" || each.first.starts_with("/page");
  });
  EXPECT_EQ(described, endpoints);
}

TEST(Operation, DescribesTheInterfacesToBrowsersAsAPage) {
  CopyingServer server;
  const HttpResponse page = server.respond(
      {.method = "GET", .path = "/spec", .headers = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}}});
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(header_of(page, "Vary"), "Accept");
  EXPECT_EQ(page.body, server.get("/docs").body);
  EXPECT_EQ(server.respond({.method = "GET", .path = "/spec", .headers = {{"Accept", "*/*"}}}).content_type,
            "application/json");
}

TEST(Operation, DescribesTheLimitsOfTheServer) {
  CopyingServer server({.characters = 7, .texts = 8, .alternatives = 9});
  const auto schemas = nlohmann::json::parse(server.get("/spec").body)["components"]["schemas"];
  EXPECT_EQ(schemas["Text"]["maxLength"], 7);
  EXPECT_EQ(schemas["OneOrSeveralTexts"]["oneOf"][1]["maxItems"], 8);
  EXPECT_EQ(schemas["AlternativesInForm"]["maximum"], 9);
  EXPECT_EQ(schemas["Alternatives"]["anyOf"][1]["pattern"], "^(-[0-9]+|0*(0|1|2|3|4|5|6|7|8|9))$");
}

TEST(Operation, AnswersWithTheStatusesOfTheDescription) {
  CopyingServer server;
  const auto spec = nlohmann::json::parse(server.get("/spec").body);
  EXPECT_EQ(spec["info"]["version"], std::string(version()));
  for (const auto& [path, methods] : spec["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      const HttpResponse response = method == "get" ? server.get(path) : server.post_json(path, "{}");
      EXPECT_TRUE(operation["responses"].contains(std::to_string(response.status))) << path << " " << response.status;
    }
  }
}

TEST(Operation, IsNotReadyAfterAnErrorThatEndsTheUseOfAGpu) {
  std::atomic<bool> is_broken = false;
  const auto load = [&](const ModelSpec& spec) {
    const TextCodec codec = make_codec();
    const std::int64_t size = codec.vocabularies.output->size();
    return make_served_model(spec, codec, [&is_broken, size] {
      return std::make_unique<TableScorer>(
          size,
          [&is_broken, size](const Tokens& input, const Tokens& produced) {
            if (is_broken) throw DeviceFailure("wait_for: an illegal memory access was encountered");
            return copying_scores(size, input, produced);
          },
          copying_attention);
    });
  };
  CopyingServer server({}, {"en-de=one"}, {.revision = [](const ModelSpec&) { return "1"; }, .load = load});
  const std::string text = R"({"q": "a", "source": "en", "target": "de"})";
  EXPECT_EQ(server.post_json("/translate", text).status, 200);
  EXPECT_EQ(server.get("/ready").status, 200);

  is_broken = true;
  EXPECT_EQ(server.post_json("/translate", text).status, 500);

  const HttpResponse response = server.get("/ready");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, testing::HasSubstr("a GPU has failed; start the server again"));
  EXPECT_EQ(server.get("/health").status, 200);
}

TEST(Operation, IsHealthyAndReadyUntilTheServerEnds) {
  CopyingServer server;
  EXPECT_EQ(server.get("/ready").status, 200);
  server.state.is_draining = true;
  EXPECT_EQ(server.get("/ready").status, 503);
  EXPECT_EQ(header_of(server.get("/ready"), "Retry-After"), "1");
  EXPECT_EQ(server.get("/health").status, 200);
  const HttpResponse refused = server.post_json("/translate", R"({"q": "a", "source": "en", "target": "de"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(header_of(refused, "Retry-After"), "10");
}

TEST(Metrics, CountTokensAndRejections) {
  CopyingServer server;
  server.post_json("/translate", R"({"q": "a b", "source": "en", "target": "de"})");
  server.state.is_draining = true;
  server.post_json("/translate", R"({"q": "a b", "source": "en", "target": "de"})");
  const HttpResponse response = server.get("/metrics");
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"edgewise_rejected_total{reason=\"drain\"} 1\n", "edgewise_queue_seconds_bucket{le=\"+Inf\"} 1\n",
        "edgewise_queue_seconds_count 1\n", "edgewise_requests_running 1\n", "edgewise_requests_waiting 0\n",
        "edgewise_queue_tokens 0\n", "edgewise_input_tokens_total 2\n", "edgewise_output_tokens_total 2\n",
        "edgewise_model_info{model=\"one\"} 1\n"}) {
    EXPECT_THAT(response.body, testing::HasSubstr(line));
  }
}

TEST(Metrics, HaveTheFormatOfPrometheus) {
  Metrics metrics;
  metrics.count_response("/a\"\\\n", 200, 0.02);
  const std::string text = metrics.text({}, {});
  EXPECT_THAT(text, testing::StartsWith("# HELP edgewise_requests_total Responses by endpoint and status.\n"
                                        "# TYPE edgewise_requests_total counter\n"
                                        "edgewise_requests_total{endpoint=\"/a\\\"\\\\\\n\",code=\"200\"} 1\n"));
  EXPECT_THAT(text, testing::HasSubstr(",le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, testing::HasSubstr(",le=\"0.025\"} 1\n"));
  EXPECT_THAT(text, testing::HasSubstr(",le=\"30\"} 1\n"));
}

TEST(Metrics, CountTheWaitsOfSentences) {
  Metrics metrics;
  metrics.count_wait(0.25);
  metrics.count_wait(40);
  const std::string text = metrics.text({.waiting_calls = 3}, {});
  EXPECT_THAT(text, testing::HasSubstr("edgewise_queue_seconds_bucket{le=\"0.1\"} 0\n"
                                       "edgewise_queue_seconds_bucket{le=\"0.25\"} 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("edgewise_queue_seconds_bucket{le=\"+Inf\"} 2\n"
                                       "edgewise_queue_seconds_sum 40.25\nedgewise_queue_seconds_count 2\n"));
  EXPECT_THAT(text, testing::HasSubstr("edgewise_requests_waiting 3\n"));
}

}  // namespace
}  // namespace edgewise
