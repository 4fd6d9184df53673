// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/client_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns a sentence with one part for each element, whose only token is the element.
TokenizedSentence sentence_of(const Tokens& parts) {
  TokenizedSentence sentence;
  for (const std::int64_t token : parts) sentence.parts.push_back({token});
  return sentence;
}

/// Returns a job of sentences of one token each. The functions append to `log`.
ClientJob make_job(const std::string& client, const Tokens& tokens, std::vector<std::string>* log = nullptr) {
  ClientJob job{.client = client, .sentences = {}, .take = {}, .end = {}};
  for (const std::int64_t token : tokens) job.sentences.push_back(sentence_of({token}));
  job.take = [log](std::size_t index, const TokenizedSentence&, const std::vector<std::vector<Hypothesis>>&) {
    if (log != nullptr) log->push_back(std::to_string(index));
  };
  job.end = [log](const std::exception_ptr& error) {
    if (log != nullptr) log->emplace_back(error ? "failed" : "done");
  };
  return job;
}

/// Returns the tokens of the next `count` parts that a search gets.
Tokens next_tokens(ClientQueue::Consumer& consumer, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(consumer.next(true)->tokens.front());
  return tokens;
}

TEST(ClientQueue, GivesEachClientItsTurn) {
  ClientQueue queue(100);
  queue.put(make_job("book", {1, 2, 3, 4}));
  queue.put(make_job("word", {10}));
  queue.put(make_job("page", {20, 21}));
  ClientQueue::Consumer consumer(queue);

  EXPECT_THAT(next_tokens(consumer, 7), ElementsAre(1, 10, 20, 2, 21, 3, 4));
  EXPECT_EQ(consumer.next(true), std::nullopt);
}

TEST(ClientQueue, GivesTheJobsOfAClientTurnsAmongThemselves) {
  ClientQueue queue(100);
  queue.put(make_job("proxy", {1, 2, 3}));
  queue.put(make_job("proxy", {10}));
  queue.put(make_job("other", {20, 21, 22}));
  ClientQueue::Consumer consumer(queue);

  EXPECT_THAT(next_tokens(consumer, 7), ElementsAre(1, 20, 10, 21, 2, 22, 3));
}

TEST(ClientQueue, PassesTheResultsOfAllPartsOfASentence) {
  ClientQueue queue(100);
  ClientJob job = make_job("a", {});
  job.sentences = {sentence_of({7, 8}), sentence_of({9})};
  std::vector<std::pair<std::size_t, Tokens>> results;
  job.take = [&](std::size_t index, const TokenizedSentence&, const std::vector<std::vector<Hypothesis>>& parts) {
    for (const auto& part : parts) results.emplace_back(index, part.at(0).tokens);
  };
  queue.put(std::move(job));
  ClientQueue::Consumer consumer(queue);
  std::vector<SearchInput> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(*consumer.next(true));

  for (const std::size_t i : {2u, 1u, 0u}) {
    Hypothesis copy;
    copy.tokens = inputs[i].tokens;
    consumer.put_result(inputs[i], {copy});
  }
  EXPECT_THAT(results, ElementsAre(std::pair(1u, Tokens{9}), std::pair(0u, Tokens{7}), std::pair(0u, Tokens{8})));
  EXPECT_EQ(queue.load().jobs, 0);
}

TEST(ClientQueue, TellsHowLongEachSentenceWaited) {
  ClientQueue queue(100);
  std::vector<double> waits;
  ClientJob job = make_job("c", {});
  job.sentences = {sentence_of({1, 2}), sentence_of({3})};
  job.begin = [&](double seconds) { waits.push_back(seconds); };
  queue.put(std::move(job));
  ClientQueue::Consumer consumer(queue);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  next_tokens(consumer, 2);
  EXPECT_THAT(waits, ElementsAre(testing::Ge(0.02)));
  next_tokens(consumer, 1);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_GE(waits[1], waits[0]);
}

TEST(ClientQueue, CountsTheJobsOfWhichNoSearchHasHadAPart) {
  ClientQueue queue(100);
  queue.put(make_job("a", {1, 2}));
  queue.put(make_job("b", {3}));
  ClientQueue::Consumer consumer(queue);
  EXPECT_EQ(queue.load().waiting_jobs, 2);
  next_tokens(consumer, 1);
  EXPECT_EQ(queue.load().waiting_jobs, 1);
  next_tokens(consumer, 2);
  EXPECT_EQ(queue.load().waiting_jobs, 0);
  EXPECT_EQ(queue.load().jobs, 2);
}

TEST(ClientQueue, EndsAJobAfterItsLastSentence) {
  ClientQueue queue(100);
  std::vector<std::string> log;
  queue.put(make_job("a", {1, 2}, &log));
  ClientQueue::Consumer consumer(queue);
  const SearchInput first = *consumer.next(true);
  const SearchInput second = *consumer.next(true);
  consumer.put_result(second, {Hypothesis()});
  EXPECT_THAT(log, ElementsAre("1"));
  consumer.put_result(first, {Hypothesis()});
  EXPECT_THAT(log, ElementsAre("1", "0", "done"));
}

TEST(ClientQueue, RefusesAJobThatDoesNotFitBesideTheOthers) {
  ClientQueue queue(3);
  const auto first = queue.put(make_job("a", {1, 2}));
  EXPECT_EQ(queue.put(make_job("b", {1, 2})), std::nullopt);
  EXPECT_NE(queue.put(make_job("b", {1})), std::nullopt);
  EXPECT_EQ(queue.load().tokens, 3);
  queue.cancel(*first);
  EXPECT_NE(queue.put(make_job("b", {1, 2})), std::nullopt);
}

TEST(ClientQueue, AcceptsAnyJobThatIsAlone) {
  ClientQueue queue(1);
  EXPECT_NE(queue.put(make_job("a", {1, 2, 3})), std::nullopt);
}

TEST(ClientQueue, RefusesJobsAfterClose) {
  ClientQueue queue(100);
  queue.close();
  EXPECT_EQ(queue.put(make_job("a", {1})), std::nullopt);
  ClientQueue::Consumer consumer(queue);
  EXPECT_FALSE(consumer.wait());
}

TEST(ClientQueue, StopsTheSearchesOfACancelledJobAndForgetsItsOtherParts) {
  ClientQueue queue(100);
  std::vector<std::string> log;
  const auto job = queue.put(make_job("a", {1, 2, 3}, &log));
  ClientQueue::Consumer consumer(queue);
  const SearchInput input = *consumer.next(true);
  EXPECT_EQ(queue.load().waiting_parts, 2);
  EXPECT_FALSE(*input.stop);

  queue.cancel(*job);
  EXPECT_TRUE(*input.stop);
  EXPECT_EQ(consumer.next(true), std::nullopt);
  EXPECT_EQ(queue.load().waiting_parts, 0);
  EXPECT_EQ(queue.load().tokens, 0);
  EXPECT_EQ(queue.load().running_parts, 1);
  consumer.put_result(input, {});
  EXPECT_EQ(queue.load().running_parts, 0);
  EXPECT_THAT(log, IsEmpty());
  queue.cancel(*job);  // has no effect
}

TEST(ClientQueue, EndsTheJobsOfAFailedSearchAndNoOthers) {
  ClientQueue queue(100);
  std::vector<std::string> failing;
  std::vector<std::string> other;
  queue.put(make_job("a", {1, 2, 3}, &failing));
  queue.put(make_job("b", {10, 11}, &other));
  ClientQueue::Consumer first(queue);
  ClientQueue::Consumer second(queue);
  EXPECT_THAT(next_tokens(first, 1), ElementsAre(1));
  const SearchInput input = *second.next(true);

  first.fail(std::make_exception_ptr(std::runtime_error("out of memory")));
  EXPECT_THAT(failing, ElementsAre("failed"));
  second.put_result(input, {Hypothesis()});
  second.put_result(*second.next(true), {Hypothesis()});
  EXPECT_THAT(other, ElementsAre("0", "1", "done"));
}

TEST(ClientQueue, EndsTheNextJobIfASearchFailsBeforeItHasAPart) {
  ClientQueue queue(100);
  std::vector<std::string> log;
  queue.put(make_job("a", {1, 2}, &log));
  ClientQueue::Consumer consumer(queue);
  ASSERT_TRUE(consumer.wait());
  consumer.fail(std::make_exception_ptr(std::runtime_error("no scorer")));
  EXPECT_THAT(log, ElementsAre("failed"));
  EXPECT_EQ(queue.load().jobs, 0);
}

TEST(ClientQueue, EndsAJobWhoseFunctionThrows) {
  ClientQueue queue(100);
  std::vector<std::string> log;
  ClientJob job = make_job("a", {1, 2}, &log);
  job.take = [](auto&&...) { throw std::runtime_error("out of memory"); };
  queue.put(std::move(job));
  ClientQueue::Consumer consumer(queue);
  consumer.put_result(*consumer.next(true), {Hypothesis()});
  EXPECT_THAT(log, ElementsAre("failed"));
  EXPECT_EQ(consumer.next(true), std::nullopt);
}

}  // namespace
}  // namespace edgewise
