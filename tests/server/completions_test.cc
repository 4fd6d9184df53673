// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "edgewise/server/endpoints.h"
#include "tests/search/text_scorer.h"
#include "tests/server/copying_server.h"

namespace edgewise {
namespace {

using Json = nlohmann::json;

/// Returns a service whose model writes random letters. Each step of it waits until `may_go_on` is set.
std::unique_ptr<GenerationService> make_writer(std::int64_t max_tokens, const std::atomic<bool>& may_go_on) {
  const std::vector<std::string> texts = {"abcdefgh ijk."};
  const auto vocabulary = build_vocabulary({std::span(texts)}, {.kind = VocabularyKind::kCharacters});
  const std::int64_t size = vocabulary->size();
  const Table table = biased_table(size, 3, 4.0, vocabulary->special().end, -30);
  const auto make_scorer = [size, table, &may_go_on] {
    return std::make_unique<TextScorer>(size, [table, &may_go_on](const Tokens& input, const Tokens& produced) {
      may_go_on.wait(false);
      return table(input, produced);
    });
  };
  return std::make_unique<GenerationService>(
      std::make_unique<GenerationEngine>(vocabulary, 0, make_scorer, GeneratorOptions()), max_tokens);
}

class WritingServer {
 public:
  explicit WritingServer(ServerOptions options = {}, const std::vector<std::string>& models = {"writer=one"})
      : server_([&] {
          options.language_models = models;
          const std::int64_t tokens = options.queue_tokens;
          return CopyingServer(options, {"en-de=one"}, copying_loader(),
                               {.revision = [](const std::string&) { return "1"; },
                                .load = [this, tokens](const std::string&) { return make_writer(tokens, may_go_on); }});
        }()) {}
  ~WritingServer() { release(); }

  HttpResponse ask(const std::string& fields, std::vector<HttpHeader> headers = {}) {
    return server_.post_json("/v1/completions", "{" + fields + "}", std::move(headers));
  }

  Json answer(const std::string& fields) {
    const HttpResponse response = ask(fields);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  }

  /// Returns the message of an error with a status.
  std::string error(int status, const std::string& fields) {
    const HttpResponse response = ask(fields);
    EXPECT_EQ(response.status, status) << response.body;
    const Json error = Json::parse(response.body)["error"];
    EXPECT_TRUE(error.contains("type") && error.contains("param") && error.contains("code"));
    return error["message"];
  }

  void release() {
    may_go_on = true;
    may_go_on.notify_all();
  }

  CopyingServer& server() { return server_; }

  std::atomic<bool> may_go_on = true;

 private:
  CopyingServer server_;
};

TEST(Completions, ContinueAPromptInTheFormOfTheInterface) {
  WritingServer server;
  const Json json = server.answer(R"("model": "writer", "prompt": "abc", "max_tokens": 7, "seed": 3)");
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["model"], "writer");
  EXPECT_THAT(json["id"].get<std::string>(), testing::StartsWith("cmpl-"));
  EXPECT_GT(json["created"], 1'700'000'000);
  ASSERT_EQ(json["choices"].size(), 1u);
  EXPECT_EQ(json["choices"][0]["text"].get<std::string>().size(), 7u);
  EXPECT_EQ(json["choices"][0]["index"], 0);
  EXPECT_TRUE(json["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(json["usage"], Json::parse(R"({"prompt_tokens": 4, "completion_tokens": 7, "total_tokens": 11})"));
}

TEST(Completions, HaveAChoiceForEachSampleOfEachPrompt) {
  WritingServer server;
  const std::string fields = R"("prompt": ["abc", "d"], "n": 2, "max_tokens": 9, "seed": 3)";
  const Json choices = server.answer(fields)["choices"];
  ASSERT_EQ(choices.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(choices[i]["index"], i);
  EXPECT_NE(choices[0]["text"], choices[1]["text"]);
  EXPECT_EQ(server.answer(R"("prompt": "d", "n": 2, "max_tokens": 9, "seed": 3)")["choices"][1]["text"],
            choices[3]["text"]);
  EXPECT_EQ(server.answer(fields)["choices"], choices);
  const Json echoed = server.answer(fields + R"(, "echo": true)")["choices"];
  EXPECT_EQ(echoed[2]["text"], "d" + choices[2]["text"].get<std::string>());
}

TEST(Completions, DifferWithoutASeedAndAreTheLikeliestAtTemperature0) {
  WritingServer server;
  const auto text = [&](const std::string& fields) {
    return server.answer(R"("prompt": "abc", "max_tokens": 20)" + fields)["choices"][0]["text"].get<std::string>();
  };
  EXPECT_NE(text(""), text(""));
  EXPECT_EQ(text(R"(, "temperature": 0)"), text(R"(, "temperature": 0)"));
  EXPECT_EQ(text(R"(, "temperature": 0)"), text(R"(, "top_k": 1)"));
}

TEST(Completions, EndBeforeAStopString) {
  WritingServer server;
  const std::string fields = R"("prompt": "abc", "max_tokens": 40, "seed": 3)";
  const std::string whole = server.answer(fields)["choices"][0]["text"];
  const std::string stop = whole.substr(20, 3);
  for (const std::string& value : {Json(stop).dump(), Json({"qq", stop}).dump()}) {
    const Json choice = server.answer(fields + R"(, "stop": )" + value)["choices"][0];
    EXPECT_EQ(choice["text"], whole.substr(0, whole.find(stop)));
    EXPECT_EQ(choice["finish_reason"], "stop");
  }
}

/// Returns the data of the events of a stream.
std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = body.find("\n\n", begin);
    EXPECT_EQ(body.substr(begin, 6), "data: ");
    events.push_back(body.substr(begin + 6, end - begin - 6));
    begin = end + 2;
  }
  return events;
}

TEST(Completions, AreStreamedAsEventsOnRequest) {
  WritingServer server;
  const std::string fields = R"("prompt": ["abc", "d"], "max_tokens": 9, "seed": 3)";
  const Json whole = server.answer(fields);
  const HttpResponse response = server.ask(fields + R"(, "stream": true, "stream_options": {"include_usage": true})");
  EXPECT_EQ(response.content_type, "text/event-stream");
  const std::vector<std::string> events = events_of(response.body);
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events.back(), "[DONE]");
  std::vector<std::string> texts(2);
  std::vector<std::string> reasons(2);
  for (std::size_t i = 0; i + 2 < events.size(); ++i) {
    const Json json = Json::parse(events[i]);
    EXPECT_EQ(json["object"], "text_completion");
    ASSERT_EQ(json["choices"].size(), 1u);
    const Json& choice = json["choices"][0];
    const std::size_t index = choice["index"];
    EXPECT_EQ(reasons.at(index), "");
    texts.at(index) += choice["text"].get<std::string>();
    if (!choice["finish_reason"].is_null()) reasons[index] = choice["finish_reason"];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i], whole["choices"][i]["text"]);
    EXPECT_EQ(reasons[i], "length");
  }
  const Json last = Json::parse(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"], whole["usage"]);
  EXPECT_THAT(server.ask(R"("prompt": "a", "stream": true)").body, testing::Not(testing::HasSubstr("usage")));
}

TEST(Completions, RefuseFieldsThatAreWrongOrThatTheServerDoesNotHave) {
  WritingServer server({.characters = 10, .texts = 4, .completion_tokens = 50});
  const std::string prompt = R"("prompt": "a", )";
  EXPECT_EQ(server.error(400, ""), "request: prompt is missing, needs a text or a list of texts");
  EXPECT_EQ(server.error(400, R"("prompt": [])"), "request: prompt is missing, needs a text or a list of texts");
  EXPECT_EQ(server.error(400, R"("prompt": [1, 2])"),
            "request: prompt has other values, needs a string or a list of strings");
  EXPECT_EQ(server.error(404, prompt + R"("model": "other")"),
            "request: model is other, needs the name of a model; /v1/models lists them");
  EXPECT_EQ(server.error(400, prompt + R"("max_tokens": 51)"), "request: max_tokens is 51, needs at most 50");
  EXPECT_EQ(server.error(400, prompt + R"("max_tokens": 1.5)"),
            "request: max_tokens is 1.5, needs a whole number from 1 to 1000000000");
  EXPECT_EQ(server.error(400, prompt + R"("temperature": -1)"),
            "request: temperature is -1, needs a number from 0 to 1000");
  EXPECT_EQ(server.error(400, prompt + R"("temperature": "nan")"),
            "request: temperature is nan, needs a number from 0 to 1000");
  EXPECT_EQ(server.error(400, prompt + R"("top_p": 0)"), "request: top_p is 0, needs a number above 0 and at most 1");
  EXPECT_EQ(server.error(400, prompt + R"("n": 5)"), "request: n is 5 with 1 prompts, needs at most 4 texts together");
  EXPECT_EQ(server.error(400, R"("prompt": "abcdefghijk")"), "request: a prompt has 11 characters, needs at most 10");
  EXPECT_EQ(server.error(400, prompt + R"("stop": "")"),
            "generate: a stop string is empty, needs at least one character");
  EXPECT_EQ(server.error(400, prompt + R"("presence_penalty": 0.5)"),
            "request: presence_penalty is 0.5, needs 0; repetition_penalty avoids repetitions");
  EXPECT_EQ(server.error(400, prompt + R"("logprobs": 3)"),
            "request: logprobs is set, which this server does not return");
  EXPECT_EQ(server.error(400, prompt + R"("logit_bias": {"5": 3})"),
            "request: logit_bias is set, which this server does not have");
  EXPECT_EQ(server.error(400, prompt + R"("suffix": "b")"),
            "request: suffix is set, needs none; texts are continued at the end");
  EXPECT_EQ(server.error(400, prompt + R"("best_of": 3)"), "request: best_of is 3, needs n, which is 1");
  server.answer(prompt + R"("frequency_penalty": 0, "logit_bias": {}, "logprobs": null, "best_of": 1, "user": "u")");
  server.answer(R"("prompt": "")");
}

TEST(Completions, AcceptAThousandStopStrings) {
  WritingServer server;
  Json stop = Json::array();
  for (int i = 0; i < 1000; ++i) stop.push_back("stop " + std::to_string(i));
  EXPECT_EQ(server.answer(R"("prompt": "a", "max_tokens": 3, "stop": )" + stop.dump())["choices"].size(), 1u);
}

TEST(Completions, NameTheModelIfThereAreSeveral) {
  WritingServer server({}, {"writer=one", "/models/other/"});
  EXPECT_EQ(server.error(400, R"("prompt": "a")"),
            "request: model is missing, needs the name of a model; /v1/models lists them");
  EXPECT_EQ(server.answer(R"("prompt": "a", "model": "other")")["model"], "other");
  const Json models = Json::parse(server.server().get("/v1/models").body);
  EXPECT_EQ(models["object"], "list");
  EXPECT_EQ(models["data"][0]["id"], "writer");
  EXPECT_EQ(models["data"][1]["id"], "other");
  WritingServer none({}, {});
  EXPECT_EQ(none.error(404, R"("prompt": "a")"), "the server has no language model");
}

TEST(Completions, CheckTheKeyAndItsQuota) {
  WritingServer server({.api_keys = {"alice secret 10"}, .require_api_key = true});
  const auto status = [&](const std::string& prompt, const std::string& key) {
    return server.ask(R"("prompt": ")" + prompt + "\"", {{"Authorization", "Bearer " + key}}).status;
  };
  EXPECT_EQ(status("abcabc", "secret"), 200);
  EXPECT_EQ(status("abcabc", "secret"), 429);
  EXPECT_EQ(status("abca", "secret"), 200);
  EXPECT_EQ(status("a", "other"), 403);
  EXPECT_EQ(server.server().get("/v1/models").status, 400);  // without a key
}

TEST(Completions, RefuseTextsThatDoNotFitBesideThoseOfOthers) {
  WritingServer server({.queue_tokens = 40});
  server.may_go_on = false;
  std::thread first([&] { server.answer(R"("prompt": "abc", "max_tokens": 30)"); });
  while (server.server().language_models.load().running == 0) std::this_thread::yield();
  EXPECT_EQ(server.error(429, R"("prompt": "abc", "max_tokens": 30)"), "Slowdown: too many texts are waiting");
  EXPECT_EQ(server.server().get("/ready").status, 200);
  server.release();
  first.join();
  EXPECT_EQ(server.server().language_models.load().tokens, 0);
  server.answer(R"("prompt": "abc", "max_tokens": 300)");
}

TEST(Completions, EndWithTheTimeOfTheRequestAndWithItsClient) {
  WritingServer server({.request_seconds = 0.05});
  server.may_go_on = false;
  EXPECT_EQ(server.error(504, R"("prompt": "abc", "max_tokens": 30)"), "the time for the request is over");
  const auto exchange = std::make_shared<FakeExchange>(HttpRequest{.method = "POST",
                                                                   .path = "/v1/completions",
                                                                   .headers = {{"Content-Type", "application/json"}},
                                                                   .body = R"({"prompt": "a"})"});
  exchange->abandon();
  server.server().router.handle(exchange);
  EXPECT_EQ(exchange->num_responses, 0);
  server.release();
  while (server.server().language_models.load().tokens > 0) std::this_thread::yield();
}

TEST(Completions, RefuseTextsWhileTheServerEnds) {
  WritingServer server;
  server.server().state.is_draining = true;
  EXPECT_EQ(server.error(503, R"("prompt": "a")"), "the server is about to end");
}

}  // namespace
}  // namespace edgewise
