// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "edgewise/base/stop_request.h"
#include "edgewise/server/http.h"
#include "edgewise/server/text_request.h"
#include "tests/server/copying_server.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using Clock = RequestWait::Clock;

constexpr auto kLong = std::chrono::minutes(10);

/// A model that begins to translate when start() is called.
class WaitingModel {
 public:
  explicit WaitingModel(std::int64_t queue_tokens = 1 << 16)
      : model(make_served_model(parse_model_spec("en-de=waiting"), codec, waiting_scorers(codec, may_go_on_),
                                queue_tokens)) {}
  ~WaitingModel() { start(); }

  void start() {
    may_go_on_ = true;
    may_go_on_.notify_all();
  }

  void wait_until_running() const {
    while (model->service->load().running_parts == 0) std::this_thread::yield();
  }

 private:
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on_ = false;

 public:
  std::shared_ptr<ServedModel> model;
};

/// Translates texts for a client.
std::vector<Translation> translate(RequestWait& wait, ServedModel& model, const std::vector<std::string>& texts,
                                   const SentenceSink& sink = {}) {
  std::vector<TranslationRequest> requests;
  for (const std::string& text : texts) requests.push_back({text});
  return wait.translate(*model.service, requests, {.client = "c"}, sink);
}

TEST(RequestWait, ReturnsTheTranslationsAndCallsTheSink) {
  const auto model = make_copying_model(parse_model_spec("en-de=m"));
  FakeExchange exchange({});
  Metrics metrics;
  RequestWait wait(exchange, Clock::now() + kLong, metrics);
  std::vector<std::string> received(3);
  const auto translations = translate(wait, *model, {"a", "b c", "d"}, [&](std::size_t i, const Translation& found) {
    received[i] = found.outputs.at(0).text;
  });
  EXPECT_THAT(received, testing::ElementsAre("a", "b c", "d"));
  EXPECT_EQ(translations.at(1).outputs.at(0).text, "b c");
  EXPECT_THAT(metrics.text({}, {}), testing::HasSubstr("edgewise_input_tokens_total 4\n"));
}

TEST(RequestWait, EndsTheSentencesOfAClientThatHangsUp) {
  WaitingModel waiting;
  FakeExchange exchange({});
  Metrics metrics;
  RequestWait wait(exchange, Clock::now() + kLong, metrics);
  std::jthread client([&] {
    waiting.wait_until_running();
    exchange.abandon();
  });
  EXPECT_THROW(translate(wait, *waiting.model, {"a", "b"}), StopException);
  EXPECT_EQ(waiting.model->service->load().tokens, 0);
}

TEST(RequestWait, EndsTheSentencesAtItsDeadline) {
  WaitingModel waiting;
  FakeExchange exchange({});
  Metrics metrics;
  RequestWait wait(exchange, Clock::now() + std::chrono::milliseconds(20), metrics);
  EXPECT_EQ(error_of([&] { translate(wait, *waiting.model, {"a"}); }), "the time for the request is over");
  EXPECT_EQ(waiting.model->service->load().tokens, 0);
  EXPECT_THAT(metrics.text({}, {}), testing::HasSubstr("edgewise_rejected_total{reason=\"deadline\"} 1\n"));
}

TEST(RequestWait, RefusesSentencesThatDoNotFitBesideTheOthers) {
  WaitingModel waiting(5);
  FakeExchange exchange({});
  Metrics metrics;
  std::jthread first([&] {
    RequestWait wait(exchange, Clock::now() + kLong, metrics);
    translate(wait, *waiting.model, {"a b"});
  });
  waiting.wait_until_running();
  RequestWait wait(exchange, Clock::now() + kLong, metrics);
  try {
    translate(wait, *waiting.model, {"a b c d e"});
    ADD_FAILURE() << "the request is not refused";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 429);
    EXPECT_STREQ(error.what(), "Slowdown: too many texts are waiting");
    EXPECT_EQ(error.headers().at(0).name, "Retry-After");
  }
  waiting.start();
}

TEST(RequestWait, EndsTheSentencesWhenTheSinkThrows) {
  const auto model = make_copying_model(parse_model_spec("en-de=m"));
  FakeExchange exchange({});
  Metrics metrics;
  RequestWait wait(exchange, Clock::now() + kLong, metrics);
  const SentenceSink throwing = [](std::size_t, const Translation&) { throw StopException(); };
  EXPECT_THROW(translate(wait, *model, {"a", "b"}, throwing), StopException);
  EXPECT_EQ(model->service->load().tokens, 0);
}

}  // namespace
}  // namespace edgewise
