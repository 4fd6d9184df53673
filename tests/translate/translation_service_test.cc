// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translation_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "edgewise/translate/translator.h"
#include "tests/support/error_of.h"
#include "tests/translate/copying_model.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using Texts = std::vector<std::string>;

TranslatorOptions options_of_service() {
  TranslatorOptions options{.capacity = {.sentences = 4}, .workers = 2};
  options.search = SearchOptions{.beam = 3, .n_best = 3, .length_norm = LengthNorm::kNone};
  return options;
}

/// A call whose translations can be waited for.
class Pending {
 public:
  Pending(TranslationService& service, const std::string& client, const Texts& texts, std::int64_t n_best = 1)
      : call(service, {.client = client, .n_best = n_best}), translations_(texts.size()) {
    std::vector<TokenizedSentence> sentences;
    for (const std::string& text : texts) sentences.push_back(service.encode({text}));
    is_accepted = call.try_put(sentences);
  }

  std::vector<Translation> wait() {
    for (std::size_t i = 0; i < translations_.size(); ++i) {
      auto [number, translation] = *call.next();
      translations_.at(number) = std::move(translation);
    }
    return translations_;
  }

  Texts wait_for_texts() {
    Texts texts;
    for (const Translation& translation : wait()) texts.push_back(translation.outputs.at(0).text);
    return texts;
  }

  TranslationCall call;
  bool is_accepted = false;

 private:
  std::vector<Translation> translations_;
};

TEST(TranslationService, GivesManyClientsTheTranslationsOfATranslator) {
  TextCodec codec = make_codec();
  TranslationService service(codec, copying_scorers(codec), options_of_service());
  Translator translator(codec, copying_scorers(codec), options_of_service());
  std::vector<std::jthread> clients;
  std::atomic<int> wrong = 0;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 25; ++i) {
        Texts texts;
        for (int j = 0; j < 1 + (client + i) % 4; ++j) texts.push_back(std::string(1, "abcdef"[(i + j) % 6]) + " b c");
        const std::vector<Translation> found = Pending(service, std::to_string(client % 3), texts, 3).wait();
        for (std::size_t j = 0; j < texts.size(); ++j) {
          const Translation expected = translator.translate(texts[j]);
          for (std::size_t k = 0; k < 3; ++k) {
            wrong += found[j].outputs.at(k).text != expected.outputs.at(k).text ||
                     found[j].outputs[k].score != expected.outputs[k].score;
          }
        }
      }
    });
  }
  clients.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(service.load().tokens, 0);
}

TEST(TranslationService, ReturnsAsManyOutputsAsACallWants) {
  TextCodec codec = make_codec();
  TranslationService service(codec, copying_scorers(codec), options_of_service());
  for (const std::int64_t n_best : {1, 2, 3, 9}) {
    EXPECT_EQ(Pending(service, "a", {"a b"}, n_best).wait().at(0).outputs.size(), std::min<std::size_t>(n_best, 3));
  }
}

TEST(TranslationService, TranslatesSentencesWithoutTokens) {
  TextCodec codec = make_codec();
  TranslationService service(codec, copying_scorers(codec), options_of_service());
  EXPECT_THAT(Pending(service, "a", {"", "a", "  "}).wait_for_texts(), ElementsAre("", "a", ""));
}

TEST(TranslationService, DropsACancelledCallBeforeTheNextStep) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslatorOptions options = options_of_service();
  options.workers = 1;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options);
  Pending cancelled(service, "a", {"a b c d e f a b c d e f"});
  while (service.load().running_parts == 0) std::this_thread::yield();
  cancelled.call.cancel();
  EXPECT_EQ(service.load().tokens, 0);
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_THAT(Pending(service, "a", {"b"}).wait_for_texts(), ElementsAre("b"));
  EXPECT_EQ(service.load().running_parts, 0);
}

TEST(TranslationService, TranslatesTheSentencesThatItHasWhenItDrains) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options_of_service());
  Pending accepted(service, "a", {"a b", "c"});
  std::jthread drain([&] { service.drain(); });
  while (Pending(service, "b", {"a"}).is_accepted) std::this_thread::yield();
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_THAT(accepted.wait_for_texts(), ElementsAre("a b", "c"));
}

TEST(TranslationService, StopCancelsCallsAndRefusesNewSentences) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options_of_service());
  Pending stopped(service, "a", {"a b c d e f"});
  while (service.load().running_parts == 0) std::this_thread::yield();
  std::jthread stop([&] { service.stop(); });
  while (service.load().tokens > 0) std::this_thread::yield();
  may_go_on = true;
  may_go_on.notify_all();
  stop.join();
  EXPECT_EQ(service.load().running_parts, 0);
  EXPECT_THROW(stopped.wait(), StopException);
  EXPECT_FALSE(Pending(service, "a", {"b"}).is_accepted);
}

TEST(TranslationCall, WaitsUntilItsDeadline) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options_of_service());
  Pending pending(service, "a", {"a b"});
  EXPECT_FALSE(pending.call.wait_until(TranslationCall::Clock::now()));
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_THAT(pending.wait_for_texts(), ElementsAre("a b"));
}

TEST(TranslationCall, EndsAWaitWhenAnotherThreadCancelsIt) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options_of_service());
  Pending pending(service, "a", {"a b"});
  std::jthread other([&] { pending.call.cancel(); });
  EXPECT_THROW(pending.wait(), StopException);
  may_go_on = true;
  may_go_on.notify_all();
}

TEST(TranslationCall, EndsWithItsObject) {
  TextCodec codec = make_codec();
  std::atomic<bool> may_go_on = false;
  TranslationService service(codec, waiting_scorers(codec, may_go_on), options_of_service());
  Pending(service, "a", {"a b", "c"});
  EXPECT_EQ(service.load().tokens, 0);
  may_go_on = true;
  may_go_on.notify_all();
}

TEST(TranslationService, SharesLoadedModelsWithAnotherService) {
  TextCodec codec = make_codec();
  const LoadedModels models = {.codec = codec, .search = {.beam = 2}, .make_scorer = copying_scorers(codec)};
  TranslationService plain(models, {.n_best = 2});
  TranslationService aligned(models, {.alignment = true});
  EXPECT_EQ(Pending(plain, "a", {"a b"}, 2).wait().at(0).outputs.size(), 2u);
  const Translation translation = Pending(aligned, "a", {"a b"}).wait().at(0);
  EXPECT_EQ(translation.outputs.at(0).text, "a b");
  EXPECT_EQ(translation.outputs[0].alignment, (std::vector<AlignedPair>{{0, 0}, {1, 1}}));
}

TEST(TranslationService, SurvivesAFailedSearch) {
  TextCodec codec = make_codec();
  const std::int64_t size = codec.vocabularies.output->size();
  std::atomic<int> scorers = 0;
  const ScorerFactory factory = [&] {
    const bool fails = scorers++ < 2;
    return std::make_unique<TableScorer>(size, [size, fails](const Tokens& input, const Tokens& produced) {
      if (fails) throw std::bad_alloc();
      return copying_scores(size, input, produced);
    });
  };
  TranslatorOptions options = options_of_service();
  options.workers = 1;
  TranslationService service(codec, factory, options);
  EXPECT_THROW(Pending(service, "a", {"a"}).wait(), std::bad_alloc);
  EXPECT_THROW(Pending(service, "a", {"a", "b"}).wait(), std::bad_alloc);
  EXPECT_THAT(Pending(service, "a", {"a"}).wait_for_texts(), ElementsAre("a"));
}

TEST(TranslationService, RefusesASentenceThatIsNotUtf8) {
  TextCodec codec = make_codec();
  TranslationService service(codec, copying_scorers(codec), options_of_service());
  EXPECT_NE(error_of([&] { Pending(service, "a", {"\xff"}); }), "");
  EXPECT_THAT(Pending(service, "a", {"a"}).wait_for_texts(), ElementsAre("a"));
}

}  // namespace
}  // namespace edgewise
