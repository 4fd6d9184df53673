// SPDX-License-Identifier: Apache-2.0
// Model directories that were altered by accident or on purpose: the program refuses each with one sentence that names
// the file, or translates as with the unaltered directory.
#include "tests/apps/hostile_model.h"

#include <algorithm>

namespace edgewise {
namespace {

namespace fs = std::filesystem;

class HostileModel : public HostileModelTest {
 protected:
  inline static const Names kModelFiles = {kConfig, kModel, kVocabulary};

  static void SetUpTestSuite() { set_up_model({}, kModelFiles); }

  /// Expects that `average` refuses an altered model and writes nothing.
  void expect_no_mean(const Alteration& alteration) const {
    SCOPED_TRACE(alteration.file + ": " + alteration.name);
    const fs::path model = alter_copy(alteration, true);
    const fs::path unaltered = pristine() / "run/best";
    for (const auto& models : {Names{model.string()}, Names{unaltered.string(), model.string()}}) {
      Names command = {"average", "--out", path("mean").string()};
      command.insert(command.end(), models.begin(), models.end());
      expect_refusal(run_edgewise_briefly(command, {}), alteration);
      EXPECT_FALSE(fs::exists(path("mean")));
    }
  }

  /// Checks the answer of `compare` to a run whose model is altered.
  void expect_effect_on_comparison(const Alteration& alteration, bool is_listed) const {
    SCOPED_TRACE(alteration.file + ": " + alteration.name);
    alter_copy(alteration, is_listed);
    fs::copy(pristine() / "run/metrics.jsonl", path("run/metrics.jsonl"), fs::copy_options::overwrite_existing);
    const ProcessResult result = run_edgewise_briefly({"compare", "run"}, {.folder = path("").string()});
    if (alteration.effect == Effect::kRefused) {
      expect_refusal(result, alteration);
      EXPECT_EQ(result.output, "");
    } else {
      EXPECT_EQ(result.exit_code, 0) << result.errors;
    }
  }
};

TEST_F(HostileModel, IsRefusedIfAFileIsSpoiled) {
  for (const char* file : {kConfig, kModel, kVocabulary, kManifest}) expect_effects(spoil(file), false);
}

/// Whether a spoiled file may be the valid file of another model.
bool may_be_valid(const Alteration& alteration) {
  return alteration.name == kFlippedBit ||
         (alteration.file == kConfig && (alteration.name == "empty" || alteration.name == "cut in the middle"));
}

TEST_F(HostileModel, IsRefusedIfAFileIsSpoiledAndListedSo) {
  for (const std::string& file : kModelFiles) {
    for (const Alteration& alteration : spoil(file)) {
      if (!may_be_valid(alteration)) expect_effect(alteration, true);
    }
  }
}

TEST_F(HostileModel, IsRefusedIfAFileIsNotAsListed) {
  for (const auto& alterations : {alter_parameters(), alter_config(), alter_vocabulary()}) {
    for (Alteration alteration : alterations) {
      alteration.effect = Effect::kRefused;
      alteration.file = kManifest;
      alteration.error = " as in ";
      expect_effect(alteration, false);
    }
  }
}

TEST_F(HostileModel, IsRefusedForParametersThatDoNotFit) { expect_effects(alter_parameters(), true); }
TEST_F(HostileModel, IsRefusedForAConfigThatDoesNotFit) { expect_effects(alter_config(), true); }
TEST_F(HostileModel, IsRefusedForAVocabularyThatDoesNotFit) { expect_effects(alter_vocabulary(), true); }
TEST_F(HostileModel, IsRefusedIfItsManifestDoesNotListWhatIsNeeded) { expect_effects(alter_manifest(), false); }

TEST_F(HostileModel, IsRefusedByEachCommandThatReadsModels) {
  for (const auto& alterations : {alter_parameters(), alter_config(), alter_vocabulary()}) {
    expect_effects_on_commands(alterations, true);
  }
  expect_effects_on_commands(alter_manifest(), false);
  expect_effects_on_commands(add_files_that_are_not_listed(), false);
}

TEST_F(HostileModel, IsNotAveragedWithParametersThatDoNotFit) {
  for (const Alteration& alteration : alter_parameters()) expect_no_mean(alteration);
}

TEST_F(HostileModel, IsNotComparedIfItsConfigIsNotAsListed) {
  for (Alteration alteration : alter_config()) {
    alteration.effect = Effect::kRefused;
    alteration.file = kManifest;
    alteration.error = " as in ";
    expect_effect_on_comparison(alteration, false);
  }
  for (const char* file : {kConfig, kManifest}) {
    for (const Alteration& alteration : spoil(file)) expect_effect_on_comparison(alteration, false);
  }
}

TEST_F(HostileModel, IsNotComparedIfItsManifestDoesNotListTheConfig) {
  const std::string unread[] = {leave_out(kModel).name, leave_out(kVocabulary).name, "another size"};
  for (Alteration alteration : alter_manifest()) {
    if (std::ranges::count(unread, alteration.name) > 0) alteration.effect = Effect::kSame;
    expect_effect_on_comparison(alteration, false);
  }
}

TEST_F(HostileModel, IsNotChangedByFilesThatAreNotListed) { expect_effects(add_files_that_are_not_listed(), false); }

}  // namespace
}  // namespace edgewise
