// SPDX-License-Identifier: Apache-2.0
// Warnings about trainings that cannot succeed.
#include "edgewise/experiment/training_doubts.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Warning = std::pair<std::int64_t, std::string>;

class Warnings : public TrainObserver {
 public:
  void on_warning(std::int64_t step, const std::string& warning) override { list.emplace_back(step, warning); }
  std::vector<Warning> list;
};

/// Returns the warnings about steps with these losses, of a model with 120 tokens: ln(120) is 4.787.
std::vector<Warning> warnings_about(const std::vector<double>& losses, std::int64_t warmup) {
  Warnings warnings;
  LossDoubt doubt(warnings, 120, warmup);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    StepReport report;
    report.step = static_cast<std::int64_t>(i) + 1;
    report.loss = losses[i];
    doubt.on_step(report);
  }
  return warnings.list;
}

TEST(LossDoubt, WarnsOnceOfALossAboveThatOfAGuessAfterTheWarmUp) {
  const std::string text =
      "the mean loss of the last 20 steps is 5, above 4.787, the loss of a guess among 120 tokens: the model learns "
      "nothing; use a lower learning rate or a longer warm-up, and check the data";
  EXPECT_THAT(warnings_about(std::vector<double>(300, 5.0), 100), ElementsAre(Warning(120, text)));
}

TEST(LossDoubt, WarnsOfALossThatIsManyTimesAsHighDuringTheWarmUp) {
  const std::vector<Warning> warnings = warnings_about(std::vector<double>(300, 3e7), 4000);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].first, 20);
  EXPECT_THAT(warnings[0].second, HasSubstr("3e+07, above 4.787"));
}

TEST(LossDoubt, SaysNothingOfATrainingThatLearns) {
  std::vector<double> losses(50, 6.0);
  losses.resize(300, 4.0);
  EXPECT_THAT(warnings_about(losses, 100), IsEmpty());
}

/// Returns the doubts about sentences whose vocabulary was learned from other ones.
std::vector<std::string> doubts_about(const std::vector<std::string>& sentences,
                                      const std::vector<std::string>& learned) {
  return describe_vocabulary_doubts("input", sentences, *build_vocabulary({learned}, {}));
}

TEST(VocabularyDoubts, NameTheShareOfUnknownTokens) {
  EXPECT_THAT(doubts_about({"a b c d", "x"}, {"a b c d"}),
              ElementsAre("20 % of the input tokens are unknown to the vocabulary (1 of 5 in 2 sentences), which does "
                          "not fit these sentences; learn another one"));
  EXPECT_THAT(doubts_about({"a b c d", "a x"}, {"a b c d"}), IsEmpty());
}

TEST(VocabularyDoubts, NameTheScriptThatTheVocabularyDoesNotHave) {
  const std::vector<std::string> doubts = doubts_about({"привет мир", "12 !"}, {"hello world 1 2 !"});
  ASSERT_EQ(doubts.size(), 2U);
  EXPECT_EQ(
      doubts[0],
      "100 % of the input letters are of a script that the vocabulary does not have: 9 of 9 letters are Cyrillic, "
      "but only 0 of 9 tokens; learn another vocabulary");
  EXPECT_THAT(doubts[1], HasSubstr("of the input tokens are unknown"));
  EXPECT_THAT(doubts_about({"привет world"}, {"привет world"}), IsEmpty());
}

}  // namespace
}  // namespace edgewise
