// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/alterations.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/model_alterations.h"
#include "tests/apps/program.h"

namespace edgewise {

/// Trains a model once for all tests of a suite, which alter copies of it and check the answers of programs.
class HostileModelTest : public ProgramTest {
 protected:
  using Names = std::vector<std::string>;

  static constexpr const char* kInput = "a b\nc\n";

  /// Trains the model. `files` are those of its directory beside the manifest.
  static void set_up_model(const Names& settings, const Names& files) {
    files_ = files;
    pristine_ = std::filesystem::temp_directory_path() / ("edgewise-hostile-model-" + std::to_string(getpid()));
    ASSERT_NO_FATAL_FAILURE(train_run_in(pristine_, settings));
    std::filesystem::remove(pristine_ / "run/best/validation.toml");
    write_manifest(pristine_ / "run/best", files_);
    const ProcessResult translated = translate(pristine_ / "run/best");
    ASSERT_EQ(translated.exit_code, 0) << translated.errors;
    translation_ = translated.output;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(pristine_); }

  static ProcessResult translate(const std::filesystem::path& model) {
    return run_briefly({EDGEWISE_TRANSLATE, "--model", model.string()}, {.input = kInput});
  }

  static const std::filesystem::path& pristine() { return pristine_; }

  /// Alters a copy of the model, with `is_listed` also its manifest. Returns the copy.
  std::filesystem::path alter_copy(const Alteration& alteration, bool is_listed) const {
    const std::filesystem::path model = path("run/best");
    std::filesystem::remove_all(model);
    std::filesystem::create_directories(model.parent_path());
    std::filesystem::copy(pristine_ / "run/best", model);
    alteration.apply(model);
    if (is_listed) write_manifest(model, files_);
    return model;
  }

  /// Checks the translation of an altered copy of the model.
  void expect_effect(const Alteration& alteration, bool is_listed) const {
    SCOPED_TRACE(alteration.file + ": " + alteration.name + (is_listed ? ", and listed so" : ""));
    const ProcessResult result = translate(alter_copy(alteration, is_listed));
    if (alteration.effect == Effect::kRefused) {
      expect_refusal(result, alteration);
      EXPECT_EQ(result.output, "");
    } else {
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_EQ(result.output, translation_);
    }
  }

  void expect_effects(const std::vector<Alteration>& alterations, bool is_listed) const {
    for (const Alteration& alteration : alterations) expect_effect(alteration, is_listed);
  }

  /// Checks the answers of the full program's commands to altered copies of the model.
  void expect_effects_on_commands(const std::vector<Alteration>& alterations, bool is_listed) const {
    write("text", kInput);
    for (const Alteration& alteration : alterations) {
      const std::string model = alter_copy(alteration, is_listed).string();
      for (const Names& command : {Names{"inspect", model}, Names{"average", "--out", "mean", model},
                                   Names{"score-pairs", "--model", model, "text", "text"}}) {
        expect_answer(command, alteration);
      }
    }
  }

 private:
  void expect_answer(const Names& command, const Alteration& alteration) const {
    SCOPED_TRACE(command[0] + ", " + alteration.file + ": " + alteration.name);
    const ProcessResult result = run_edgewise_briefly(command, {.folder = path("").string()});
    if (alteration.effect == Effect::kRefused) {
      expect_refusal(result, alteration);
      EXPECT_EQ(result.output, "");
      EXPECT_FALSE(std::filesystem::exists(path("mean")));
    } else {
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      std::filesystem::remove_all(path("mean"));
    }
  }

  inline static Names files_;
  inline static std::filesystem::path pristine_;
  inline static std::string translation_;
};

}  // namespace edgewise
