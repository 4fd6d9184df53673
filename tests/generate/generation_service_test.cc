// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/generation_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <list>
#include <thread>

#include "edgewise/base/error.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/generate/generator.h"
#include "tests/search/text_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using namespace std::chrono_literals;

/// Makes engines that write random letters. They compute as many tokens as most_rows permits, and fail while
/// `is_broken` is set.
class Writers {
 public:
  std::shared_ptr<GenerationEngine> make(const GeneratorOptions& options = {}) {
    const std::vector<std::string> texts = {"abcdefgh ijk.\n"};
    const auto vocabulary = build_vocabulary({std::span(texts)}, {.kind = VocabularyKind::kCharacters});
    const Table table = biased_table(vocabulary->size(), 3, 4.0, vocabulary->special().end, -1);
    const Table held = [this, table](const Tokens& input, const Tokens& produced) {
      const std::int64_t row = ++num_rows;
      for (std::int64_t most = most_rows; row > most; most = most_rows) most_rows.wait(most);
      check(!is_broken, "step: the model is broken, needs repair");
      return table(input, produced);
    };
    return std::make_shared<GenerationEngine>(
        vocabulary, 0, [held, size = vocabulary->size()] { return std::make_unique<TextScorer>(size, held); }, options);
  }

  void permit(std::int64_t rows) {
    most_rows = rows;
    most_rows.notify_all();
  }
  void hold() { permit(0); }
  void release() { permit(std::numeric_limits<std::int64_t>::max()); }

  std::atomic<std::int64_t> most_rows = std::numeric_limits<std::int64_t>::max();
  std::atomic<bool> is_broken = false;
  std::atomic<std::int64_t> num_rows = 0;  // that began
};

constexpr std::int64_t kManyTokens = 1'000'000;
constexpr std::int64_t kEndless = 1'000'000'000;

std::vector<ContinuedText> begin_all(const GenerationService& service, const std::vector<GenerationRequest>& requests) {
  std::vector<ContinuedText> texts;
  for (const GenerationRequest& request : requests) texts.push_back(service.begin(request));
  return texts;
}

/// Reads all parts of a call.
std::vector<GeneratedTexts> read_all(GenerationCall& call, const std::vector<GenerationRequest>& requests) {
  std::vector<GeneratedTexts> texts(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    texts[i].samples.resize(static_cast<std::size_t>(requests[i].options.samples));
  }
  while (const auto piece = call.next()) texts[piece->request].add(*piece);
  return texts;
}

std::vector<GenerationRequest> requests_of_thread(std::int64_t thread) {
  std::vector<GenerationRequest> requests;
  for (std::int64_t i = 0; i < 4; ++i) {
    GenerateOptions options = {
        .max_tokens = 5 + 7 * i, .samples = 1 + i % 3, .seed = static_cast<std::uint64_t>(thread)};
    if (i == 1) options.stop = {"a", "bc"};
    requests.push_back({std::string(static_cast<std::size_t>(3 * i), 'd'), options});
  }
  return requests;
}

TEST(GenerationService, GivesEachOfManyThreadsTheTextsThatItGetsAlone) {
  Writers writers;
  GenerationService service(writers.make({.capacity = 5}), kManyTokens);
  std::vector<std::vector<GeneratedTexts>> found(8);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        const std::vector<GenerationRequest> requests = requests_of_thread(thread);
        GenerationCall call(service, std::to_string(thread));
        EXPECT_TRUE(call.try_put(begin_all(service, requests)));
        found[static_cast<std::size_t>(thread)] = read_all(call, requests);
      });
    }
  }
  for (std::int64_t thread = 0; thread < 8; ++thread) {
    const std::vector<GenerationRequest> requests = requests_of_thread(thread);
    const std::vector<GeneratedTexts>& texts = found[static_cast<std::size_t>(thread)];
    ASSERT_EQ(texts.size(), requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Generator alone(writers.make());
      const GeneratedTexts expected = alone.generate(requests[i].prompt, requests[i].options);
      for (std::size_t sample = 0; sample < expected.samples.size(); ++sample) {
        EXPECT_EQ(texts[i].samples[sample].text, expected.samples[sample].text);
        EXPECT_EQ(texts[i].samples[sample].end, expected.samples[sample].end);
        EXPECT_EQ(texts[i].samples[sample].tokens, expected.samples[sample].tokens);
      }
    }
  }
  EXPECT_EQ(service.load().tokens, 0);
  EXPECT_EQ(service.load().calls, 0);
}

TEST(GenerationService, TakesNoMoreTokensThanItsLimitButOneCallWithMore) {
  Writers writers;
  writers.hold();
  GenerationService service(writers.make(), /*max_tokens=*/50);
  const std::vector<GenerationRequest> large = {{"abc", {.max_tokens = 100}}};              // 104 tokens
  const std::vector<GenerationRequest> small = {{"abc", {.max_tokens = 6, .samples = 2}}};  // 16 tokens
  GenerationCall first(service, "1");
  EXPECT_TRUE(first.try_put(begin_all(service, large)));
  GenerationCall second(service, "2");
  EXPECT_FALSE(second.try_put(begin_all(service, small)));
  EXPECT_EQ(service.load().tokens, 104);
  first.cancel();
  writers.release();
  while (service.load().tokens > 0) std::this_thread::yield();
  writers.hold();
  std::list<GenerationCall> calls;
  for (const bool fits : {true, true, true, false}) {
    EXPECT_EQ(calls.emplace_back(service, "3").try_put(begin_all(service, small)), fits);
  }
  writers.release();
}

TEST(GenerationService, EndsACancelledCallAndGoesOnWithTheOthers) {
  Writers writers;
  GenerationService service(writers.make(), 10 * kEndless);
  const GenerateOptions endless = {.max_tokens = kEndless, .ignore_end = true};
  GenerationCall cancelled(service, "1");
  ASSERT_TRUE(cancelled.try_put(begin_all(service, {{"abc", endless}, {"d", endless}})));
  EXPECT_TRUE(cancelled.next().has_value());
  {
    GenerationCall forgotten(service, "2");
    ASSERT_TRUE(forgotten.try_put(begin_all(service, {{"abc", endless}})));
    EXPECT_TRUE(forgotten.next().has_value());
  }
  cancelled.cancel();
  EXPECT_THROW(cancelled.next(), StopException);
  while (service.load().tokens > 0) std::this_thread::yield();

  const std::vector<GenerationRequest> requests = {{"abc", {.max_tokens = 9, .ignore_end = true}}};
  GenerationCall call(service, "1");
  ASSERT_TRUE(call.try_put(begin_all(service, requests)));
  EXPECT_EQ(read_all(call, requests).front().samples.front().tokens, 9);
}

TEST(GenerationService, ReturnsTheErrorOfAComputationToItsCallsAndComputesTheNext) {
  Writers writers;
  GenerationService service(writers.make(), kManyTokens);
  const std::vector<GenerationRequest> requests = {{"abc", {.max_tokens = 9}}, {"d", {.max_tokens = 9}}};
  writers.is_broken = true;
  GenerationCall broken(service, "1");
  ASSERT_TRUE(broken.try_put(begin_all(service, requests)));
  EXPECT_EQ(error_of([&] { read_all(broken, requests); }), "step: the model is broken, needs repair");
  writers.is_broken = false;
  GenerationCall call(service, "1");
  ASSERT_TRUE(call.try_put(begin_all(service, requests)));
  EXPECT_GT(read_all(call, requests).back().samples.front().tokens, 0);
  EXPECT_EQ(service.load().tokens, 0);
}

TEST(GenerationService, TakesTheNextTextFromTheClientWithTheFewestTextsInTheBatch) {
  Writers writers;
  writers.hold();
  GenerationService service(writers.make({.capacity = 2}), kManyTokens);
  const GenerateOptions options = {.max_tokens = 40, .ignore_end = true};
  GenerationCall many(service, "many");
  ASSERT_TRUE(many.try_put(begin_all(service, std::vector<GenerationRequest>(20, {"abc", options}))));
  GenerationCall few(service, "few");
  ASSERT_TRUE(few.try_put(begin_all(service, {{"abc", options}})));
  // The first two texts of 40 tokens may have been in the batch before the other client came; of the next two, one is
  // its text.
  constexpr std::int64_t kRows = 4 * 40;
  writers.permit(kRows);
  while (writers.num_rows <= kRows) std::this_thread::yield();
  std::optional<FinishReason> end;
  while (!end && few.wait_until(GenerationCall::Clock::now())) end = few.next()->end;
  EXPECT_EQ(end, FinishReason::kLength);
  writers.release();
}

TEST(GenerationService, StopsWhileCallsWait) {
  Writers writers;
  auto service = std::make_unique<GenerationService>(writers.make({.capacity = 1}), 10 * kEndless);
  const GenerateOptions endless = {.max_tokens = kEndless, .ignore_end = true};
  GenerationCall running(*service, "1");
  ASSERT_TRUE(running.try_put(begin_all(*service, {{"abc", endless}, {"abc", endless}})));
  std::jthread reader([&] { EXPECT_THROW(read_all(running, {{"abc", endless}, {"abc", endless}}), StopException); });
  service->stop();
  reader.join();
  GenerationCall late(*service, "2");
  EXPECT_FALSE(late.try_put(begin_all(*service, {{"abc", endless}})));
  EXPECT_THROW(running.next(), StopException);
}

TEST(GenerationCall, WaitsUntilADeadline) {
  Writers writers;
  writers.hold();
  GenerationService service(writers.make(), kManyTokens);
  GenerationCall call(service, "1");
  ASSERT_TRUE(call.try_put(begin_all(service, {{"abc", {.max_tokens = 3}}})));
  EXPECT_FALSE(call.wait_until(GenerationCall::Clock::now() + 20ms));
  writers.release();
  EXPECT_TRUE(call.wait_until(GenerationCall::Clock::now() + 1h));
}

}  // namespace
}  // namespace edgewise
