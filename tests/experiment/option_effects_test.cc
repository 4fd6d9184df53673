// SPDX-License-Identifier: Apache-2.0
// Each option of a config changes something, or is refused with a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "edgewise/base/config/config.h"
#include "edgewise/options/experiment.h"
#include "tests/experiment/option_table.h"
#include "tests/experiment/short_run.h"

namespace edgewise {
namespace {

std::string setting_of(const OptionRow& row) { return row.option + "=" + row.value; }

std::string last_name(const std::string& option) { return option.substr(option.rfind('.') + 1); }

/// Kinds of runs, and the options that are changed in them: those that begin with one of `options`.
struct Context {
  std::string name;
  Settings settings;
  std::vector<std::string> options;
};

std::vector<Context> contexts() {
  const Settings letters = letter_settings();
  const std::vector<std::string> rates = {"train.learning_rate", "train.min_", "train.factor", "train.warmup",
                                          "train.plateau"};
  std::vector<Context> all = {
      {"letters", letters, {""}},
      {"text", text_settings(), {"data.", "vocabulary.", "batch.", "train.best_by", "show."}},
      {"a language model",
       language_settings(),
       {"data.", "vocabulary.", "batch.", "model.", "search.beam", "train.best_by", "train.smoothing", "show."}},
      {"pieces", text_settings() + Settings{"vocabulary.kind=sentencepiece", "vocabulary.size=24"}, {"vocabulary."}},
      {"a universal model",
       letters + Settings{"model.kind=universal"},
       {"model.", "batch.", "train.rdrop", "train.simcut", "train.cut", "train.smoothing", "train.precision",
        "train.quantise"}},
      {"a universal model that does not halt",
       letters + Settings{"model.kind=universal", "model.universal.adaptive=none"},
       {"model."}},
      {"a vocabulary from a file", letters + Settings{"vocabulary.file=vocabulary"}, {"vocabulary."}},
      {"pieces from a file",
       text_settings() + Settings{"vocabulary.kind=sentencepiece", "vocabulary.file=pieces"},
       {"vocabulary."}},
      {"additive scores", letters + Settings{"model.score=additive"}, {"model."}},
      {"learned positions", letters + Settings{"model.positions=learned"}, {"model.", "data.max_length", "batch."}},
      {"post-norm", letters + Settings{"model.norm_placement=post"}, {"model."}},
      {"a universal model with post-norm",
       letters + Settings{"model.kind=universal", "model.norm_placement=post"},
       {"model."}},
      {"bf16",
       letters + Settings{"train.precision=bf16"},
       {"model.", "train.smoothing", "train.rdrop", "train.simcut", "train.cut", "train.quantise"}},
      {"no dropout",
       letters + Settings{"model.dropout.embedding=0.0", "model.dropout.residual=0.0", "model.dropout.activation=0.0"},
       {"train.rdrop"}},
      {"no validation", letters + Settings{"data.valid_size=0"}, {"train.", "show."}},
      {"sampling", letters + Settings{"search.kind=sampling"}, {"search."}},
      {"no length norm", letters + Settings{"search.length_norm=none"}, {"search.length"}},
  };
  for (const std::string schedule : {"constant", "inverse_sqrt", "linear", "cosine", "plateau"}) {
    all.push_back({schedule, letters + Settings{"train.schedule=" + schedule, "train.steps=8"}, rates});
  }
  return all;
}

bool is_changed_in(const Context& context, const OptionRow& row) {
  if (std::ranges::find(context.settings, setting_of(row)) != context.settings.end()) return false;
  return std::ranges::any_of(context.options,
                             [&row](const std::string& option) { return row.option.starts_with(option); });
}

bool reads_vocabulary(const Context& context) {
  return std::ranges::any_of(context.settings,
                             [](const std::string& setting) { return setting.starts_with("vocabulary.file="); });
}

class OptionEffects : public testing::Test {
 protected:
  static void SetUpTestSuite() { runs_ = new ShortRuns; }
  static void TearDownTestSuite() { delete runs_; }

  static ShortRuns& runs() { return *runs_; }

 private:
  static inline ShortRuns* runs_ = nullptr;
};

TEST_F(OptionEffects, AreTestedForEachOptionOfAConfig) {
  std::multiset<std::string> tested;
  for (const OptionRow& row : option_rows()) tested.insert(row.option);
  std::multiset<std::string> options;
  for (const auto& [option, value] : settings_of(Experiment())) options.insert(option);

  EXPECT_EQ(tested, options);
}

void expect_effect(const OptionRow& row, ShortRuns& runs) {
  SCOPED_TRACE(setting_of(row));
  const ShortRunResult& before = runs(row.settings);
  const ShortRunResult& after = runs(row.settings + Settings{setting_of(row)});
  EXPECT_EQ(before.error, "");
  EXPECT_FALSE(after.is_refused) << after.error;
  EXPECT_TRUE(before != after) << "has no effect";
}

TEST_F(OptionEffects, OfOneOptionOfEachSectionAreSeenInARunThatNeedsIt) {
  std::set<std::string> sections;
  for (const OptionRow& row : option_rows()) {
    if (sections.insert(row.option.substr(0, row.option.find('.'))).second) expect_effect(row, runs());
  }
  EXPECT_GT(sections.size(), 5U);
}

TEST_F(OptionEffects, OfEachOptionAreSeenInARunThatNeedsIt) {
  for (const OptionRow& row : option_rows()) expect_effect(row, runs());
}

TEST_F(OptionEffects, AreSeenInEachKindOfRunOrTheOptionIsRefusedByName) {
  for (const Context& context : contexts()) {
    const ShortRunResult& before = runs()(context.settings);
    EXPECT_EQ(before.error, "") << context.name;
    for (const OptionRow& row : option_rows()) {
      if (!is_changed_in(context, row)) continue;
      SCOPED_TRACE(context.name + ", " + setting_of(row));
      const ShortRunResult& after = runs()(context.settings + Settings{setting_of(row)});
      if (after.is_refused) {
        EXPECT_NE(after.error.find(last_name(row.option)), std::string::npos) << after.error;
        EXPECT_NE(after.error.find(", needs "), std::string::npos) << after.error;
      } else if (reads_vocabulary(context) && !after.error.empty() && row.option != "vocabulary.file") {
        EXPECT_NE(after.error.find(last_name(row.option)), std::string::npos) << after.error;
      } else if (!row.depends_on_data) {
        EXPECT_TRUE(before != after) << "has no effect";
      }
    }
  }
}

/// Returns settings with which a run of `row.settings` goes on.
Settings longer_settings(const OptionRow& row) {
  const TrainOptions train = parse_experiment("", "test", row.settings).train;
  if (train.steps > 0) return {"train.steps=" + std::to_string(train.steps + 3)};
  return {"train.epochs=" + std::to_string(train.epochs + 1)};
}

/// Returns whether the error of a resumed run names the option, or the training pairs, which the option changes.
bool is_named(const OptionRow& row, const std::string& error) {
  return error.find(row.option) != std::string::npos || error.find("training pairs or batch") != std::string::npos;
}

TEST_F(OptionEffects, AreSeenInAResumedRunOrTheOptionIsRefusedByName) {
  for (const OptionRow& row : option_rows()) {
    SCOPED_TRACE(setting_of(row));
    const Settings longer = longer_settings(row);
    const ShortRunResult& before = runs().resume(row.settings, longer);
    const ShortRunResult& after = runs().resume(row.settings, longer + Settings{setting_of(row)});
    EXPECT_EQ(before.error, "");
    if (row.depends_on_data && row.option.starts_with("train.")) continue;
    EXPECT_TRUE(after.error.empty() || is_named(row, after.error)) << after.error;
    if (!row.depends_on_data) {
      EXPECT_TRUE(before != after) << "has no effect";
    }
    if (row.option.starts_with("model.dropout.") || row.option == "model.universal.ponder_weight" ||
        (row.option.starts_with("model.exits.") && row.option != "model.exits.layers")) {
      EXPECT_EQ(after.error, "");
    } else if (row.option.starts_with("vocabulary.") || row.option.starts_with("model.")) {
      EXPECT_NE(after.error.find(row.option), std::string::npos) << after.error;
    }
  }
}

}  // namespace
}  // namespace edgewise
