// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/client_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "edgewise/base/error.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

/// Returns a sentence with one part for each element, whose only token is the element.
TokenizedSentence sentence_of(const Tokens& parts) {
  TokenizedSentence sentence;
  for (const std::int64_t token : parts) sentence.parts.push_back({{.tokens = {token}}});
  return sentence;
}

/// Puts sentences into a queue as one call. Returns null if the queue refuses them.
ClientQueue::SharedCall put(ClientQueue& queue, CallOptions options, std::vector<TokenizedSentence> sentences) {
  const auto call = ClientQueue::make_call(std::move(options));
  return queue.try_put(call, sentences) ? call : nullptr;
}

/// Puts in sentences of one token each.
ClientQueue::SharedCall put_tokens(ClientQueue& queue, const std::string& client, const Tokens& tokens) {
  std::vector<TokenizedSentence> sentences;
  for (const std::int64_t token : tokens) sentences.push_back(sentence_of({token}));
  return put(queue, {.client = client}, std::move(sentences));
}

/// Returns the tokens of the next `count` parts that a search gets.
Tokens next_tokens(ClientQueue::Consumer& consumer, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(consumer.next(true)->tokens.front());
  return tokens;
}

/// Returns the numbers of the sentences that a call can hand out.
std::vector<std::size_t> take_ready(ClientQueue& queue, const ClientQueue::SharedCall& call) {
  std::vector<std::size_t> numbers;
  while (queue.wait_until(call, ClientQueue::Clock::time_point())) numbers.push_back(queue.take(call)->first);
  return numbers;
}

std::string error_of_take(ClientQueue& queue, const ClientQueue::SharedCall& call) {
  return error_of([&] { queue.take(call); });
}

const std::exception_ptr kFailure = std::make_exception_ptr(Error("out of memory"));

TEST(ClientQueue, GivesEachClientItsTurn) {
  ClientQueue queue(100);
  put_tokens(queue, "book", {1, 2, 3, 4});
  put_tokens(queue, "word", {10});
  put_tokens(queue, "page", {20, 21});
  ClientQueue::Consumer consumer(queue);

  EXPECT_THAT(next_tokens(consumer, 7), ElementsAre(1, 10, 20, 2, 21, 3, 4));
  EXPECT_EQ(consumer.next(true), std::nullopt);
}

TEST(ClientQueue, GivesTheCallsOfAClientTurnsAmongThemselves) {
  ClientQueue queue(100);
  put_tokens(queue, "proxy", {1, 2, 3});
  put_tokens(queue, "proxy", {10});
  put_tokens(queue, "other", {20, 21, 22});
  ClientQueue::Consumer consumer(queue);

  EXPECT_THAT(next_tokens(consumer, 7), ElementsAre(1, 20, 10, 21, 2, 22, 3));
}

TEST(ClientQueue, NumbersThePartsOfACallInTheirOrder) {
  ClientQueue queue;
  put(queue, {}, {sentence_of({7, 8}), sentence_of({9})});
  put_tokens(queue, "other", {20});
  ClientQueue::Consumer consumer(queue);
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (int i = 0; i < 4; ++i) {
    const SearchInput input = *consumer.next(true);
    parts.emplace_back(input.id, input.tokens.front());
  }
  EXPECT_THAT(parts, ElementsAre(std::pair(0, 7), std::pair(3, 20), std::pair(1, 8), std::pair(2, 9)));
}

TEST(ClientQueue, HandsOutTheInputsAndResultsOfAllPartsOfASentence) {
  ClientQueue queue(100);
  const auto call = put(queue, {}, {sentence_of({7, 8}), sentence_of({9})});
  ClientQueue::Consumer consumer(queue);
  std::vector<SearchInput> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(*consumer.next(true));
  for (const std::size_t i : {2u, 1u, 0u}) {
    Hypothesis copy;
    copy.tokens = inputs[i].tokens;
    consumer.put_result(inputs[i], {copy});
  }
  EXPECT_EQ(queue.load().calls, 0);

  const auto [number, sentence] = *queue.take(call);
  EXPECT_EQ(number, 0u);
  for (const SentencePart& part : sentence.parts) EXPECT_EQ(part.hypotheses.at(0).tokens, part.input.tokens);
  EXPECT_EQ(sentence.parts.at(1).input.tokens, Tokens{8});
  EXPECT_EQ(queue.take(call)->second.parts.at(0).input.tokens, Tokens{9});
}

TEST(ClientQueue, HandsOutEachSentenceAsSoonAsItIsTranslatedOrInTheirOrder) {
  for (const bool keeps_order : {false, true}) {
    ClientQueue queue;
    const auto call = put(queue, {.keeps_order = keeps_order}, {sentence_of({1}), sentence_of({2}), sentence_of({3})});
    ClientQueue::Consumer consumer(queue);
    const SearchInput first = *consumer.next(true);
    consumer.put_result(*consumer.next(true), {Hypothesis()});
    EXPECT_EQ(take_ready(queue, call).size(), keeps_order ? 0u : 1u);
    consumer.put_result(first, {Hypothesis()});
    EXPECT_EQ(take_ready(queue, call), keeps_order ? std::vector<std::size_t>({0, 1}) : std::vector<std::size_t>({0}));
  }
}

TEST(ClientQueue, EndsACompleteCallBehindItsLastSentence) {
  ClientQueue queue;
  const auto call = put_tokens(queue, "a", {1});
  queue.complete(call);
  ClientQueue::Consumer consumer(queue);
  EXPECT_FALSE(queue.wait_until(call, ClientQueue::Clock::time_point()));
  consumer.put_result(*consumer.next(true), {Hypothesis()});
  EXPECT_EQ(queue.take(call)->first, 0u);
  EXPECT_EQ(queue.take(call), std::nullopt);
}

TEST(ClientQueue, ThrowsTheErrorOfACompleteCallBehindItsLastSentence) {
  ClientQueue queue;
  const auto call = put_tokens(queue, "a", {1});
  queue.complete(call, kFailure);
  ClientQueue::Consumer consumer(queue);
  consumer.put_result(*consumer.next(true), {Hypothesis()});
  EXPECT_EQ(queue.take(call)->first, 0u);
  EXPECT_EQ(error_of_take(queue, call), "out of memory");
}

TEST(ClientQueue, TellsHowLongEachSentenceWaited) {
  ClientQueue queue(100);
  std::vector<double> waits;
  const auto before = ClientQueue::Clock::now();
  put(queue, {.begin = [&](double seconds) { waits.push_back(seconds); }}, {sentence_of({1, 2}), sentence_of({3})});
  ClientQueue::Consumer consumer(queue);
  next_tokens(consumer, 2);
  EXPECT_THAT(waits, ElementsAre(testing::Ge(0)));
  next_tokens(consumer, 1);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_GE(waits[1], waits[0]);
  EXPECT_LE(waits[1], std::chrono::duration<double>(ClientQueue::Clock::now() - before).count());
}

TEST(ClientQueue, CountsTheCallsOfWhichNoSearchHasHadAPart) {
  ClientQueue queue(100);
  put_tokens(queue, "a", {1, 2});
  put_tokens(queue, "b", {3});
  ClientQueue::Consumer consumer(queue);
  EXPECT_EQ(queue.load().waiting_calls, 2);
  next_tokens(consumer, 1);
  EXPECT_EQ(queue.load().waiting_calls, 1);
  next_tokens(consumer, 2);
  EXPECT_EQ(queue.load().waiting_calls, 0);
  EXPECT_EQ(queue.load().calls, 2);
}

TEST(ClientQueue, RefusesSentencesThatDoNotFitBesideTheOthers) {
  ClientQueue queue(3);
  const auto first = put_tokens(queue, "a", {1, 2});
  EXPECT_EQ(put_tokens(queue, "b", {1, 2}), nullptr);
  EXPECT_NE(put_tokens(queue, "b", {1}), nullptr);
  EXPECT_EQ(queue.load().tokens, 3);
  queue.cancel(first);
  EXPECT_NE(put_tokens(queue, "b", {1, 2}), nullptr);
}

TEST(ClientQueue, AcceptsSentencesThatAreAlone) {
  ClientQueue queue(1);
  EXPECT_NE(put_tokens(queue, "a", {1, 2, 3}), nullptr);
}

TEST(ClientQueue, HasSpaceBehindATranslatedSentence) {
  ClientQueue queue(2);
  put_tokens(queue, "a", {1, 2});
  ClientQueue::Consumer consumer(queue);
  consumer.put_result(*consumer.next(true), {Hypothesis()});
  EXPECT_EQ(queue.load().tokens, 1);
  EXPECT_NE(put_tokens(queue, "b", {1}), nullptr);
}

TEST(ClientQueue, RefusesSentencesAfterClose) {
  ClientQueue queue(100);
  queue.close();
  EXPECT_EQ(put_tokens(queue, "a", {1}), nullptr);
  ClientQueue::Consumer consumer(queue);
  EXPECT_FALSE(consumer.wait());
}

TEST(ClientQueue, LetsACallWaitThatHasAsManySentencesAsItsOptionsAllow) {
  for (const CallOptions& options : {CallOptions{.max_sentences = 2}, CallOptions{.max_tokens = 2}}) {
    ClientQueue queue;
    const auto call = ClientQueue::make_call(options);
    for (int i = 0; i < 2; ++i) queue.put(call, sentence_of({i}));
    std::jthread waiting([&] { queue.put(call, sentence_of({2})); });
    ClientQueue::Consumer consumer(queue);
    consumer.put_result(*consumer.next(true), {Hypothesis()});
    consumer.put_result(*consumer.next(true), {Hypothesis()});
    EXPECT_EQ(queue.load().waiting_parts, 0);  // translated sentences that nobody has taken count
    queue.take(call);
    EXPECT_EQ(consumer.next(false)->tokens, Tokens{2});
  }
}

TEST(ClientQueue, StopsTheSearchesOfACancelledCallAndForgetsItsOtherParts) {
  ClientQueue queue(100);
  const auto call = put_tokens(queue, "a", {1, 2, 3});
  ClientQueue::Consumer consumer(queue);
  const SearchInput input = *consumer.next(true);
  EXPECT_EQ(queue.load().waiting_parts, 2);
  EXPECT_FALSE(*input.stop);

  queue.cancel(call);
  EXPECT_TRUE(*input.stop);
  EXPECT_EQ(consumer.next(true), std::nullopt);
  EXPECT_EQ(queue.load().waiting_parts, 0);
  EXPECT_EQ(queue.load().tokens, 0);
  EXPECT_EQ(queue.load().running_parts, 1);
  consumer.put_result(input, {});
  EXPECT_EQ(queue.load().running_parts, 0);
  EXPECT_THROW(queue.take(call), StopException);
  EXPECT_THROW(queue.put(call, sentence_of({1})), StopException);
  queue.cancel(call);  // has no effect
}

TEST(ClientQueue, CancelsItsCallsAfterAStopRequest) {
  StopRequest stop = false;
  ClientQueue queue(kUnlimited, &stop);
  const auto call = put_tokens(queue, "a", {1, 2});
  ClientQueue::Consumer consumer(queue);
  next_tokens(consumer, 1);
  EXPECT_FALSE(consumer.is_stopped());
  stop = true;
  EXPECT_TRUE(consumer.is_stopped());
  queue.close();
  EXPECT_FALSE(consumer.wait());
  EXPECT_EQ(queue.load().running_parts, 0);
  EXPECT_THROW(queue.take(call), StopException);
}

TEST(ClientQueue, EndsTheCallsOfAFailedSearchAndNoOthers) {
  ClientQueue queue(100);
  const auto failing = put_tokens(queue, "a", {1, 2, 3});
  const auto other = put_tokens(queue, "b", {10, 11});
  ClientQueue::Consumer first(queue);
  ClientQueue::Consumer second(queue);
  EXPECT_THAT(next_tokens(first, 1), ElementsAre(1));
  const SearchInput input = *second.next(true);

  first.fail(kFailure);
  EXPECT_EQ(error_of_take(queue, failing), "out of memory");
  second.put_result(input, {Hypothesis()});
  second.put_result(*second.next(true), {Hypothesis()});
  EXPECT_THAT(take_ready(queue, other), ElementsAre(0, 1));
}

TEST(ClientQueue, HandsOutTheTranslatedSentencesBeforeTheErrorOfASearch) {
  ClientQueue queue;
  const auto call = put_tokens(queue, "a", {1, 2});
  ClientQueue::Consumer consumer(queue);
  consumer.put_result(*consumer.next(true), {Hypothesis()});
  next_tokens(consumer, 1);
  consumer.fail(kFailure);
  EXPECT_EQ(queue.take(call)->first, 0u);
  EXPECT_EQ(error_of_take(queue, call), "out of memory");
}

TEST(ClientQueue, EndsTheNextCallIfASearchFailsBeforeItHasAPart) {
  ClientQueue queue(100);
  const auto call = put_tokens(queue, "a", {1, 2});
  ClientQueue::Consumer consumer(queue);
  ASSERT_TRUE(consumer.wait());
  consumer.fail(kFailure);
  EXPECT_EQ(error_of_take(queue, call), "out of memory");
  EXPECT_EQ(queue.load().calls, 0);
}

}  // namespace
}  // namespace edgewise
