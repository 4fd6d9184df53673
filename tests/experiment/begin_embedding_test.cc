// SPDX-License-Identifier: Apache-2.0
// With model.begin_embedding=zero, the embedding of the begin token is zero in each model that training gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/experiment/run_config.h"
#include "edgewise/experiment/train.h"
#include "edgewise/translate/model_files.h"
#include "tests/base/support.h"
#include "tests/experiment/option_table.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr auto kBegin = static_cast<std::size_t>(SpecialTokens().begin);

class BeginEmbeddingTest : public testing::TestWithParam<std::string> {
 protected:
  Settings settings() const {
    return letter_settings() + Settings{"model.begin_embedding=zero", "model.tying=" + GetParam(),
                                        "train.schedule=constant",    "train.learning_rate=0.05",
                                        "train.weight_decay=0.1",     "train.average=0.5",
                                        "train.precision=bf16"};
  }

  void train_run(const Settings& settings, const fs::path& run, const TrainSettings& train_settings = {}) const {
    RunObserver observer;
    RunRequests requests;
    train(parse_experiment("", "test", settings), run, train_settings, observer, requests);
  }

  /// Returns the rows of the embeddings of output tokens.
  static std::vector<std::vector<float>> rows_of(const fs::path& model) {
    const ModelFiles files = read_model_files(model, "test");
    const TensorInfo& table = *files.parameters.find(files.experiment.model.output_embedding_name());
    std::vector<float> values(table.bytes.size() / sizeof(float));
    read_values(files.parameters, table, values);
    const auto size = static_cast<std::size_t>(table.shape[1]);
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < values.size(); i += size) {
      rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                        values.begin() + static_cast<std::ptrdiff_t>(i + size));
    }
    return rows;
  }

  static bool is_zero(const std::vector<float>& row) {
    return std::ranges::all_of(row, [](float value) { return value == 0; });
  }

  /// Expects that only the begin token has a zero embedding.
  static void expect_zero(const fs::path& model) {
    SCOPED_TRACE(model.filename());
    const auto rows = rows_of(model);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(is_zero(rows[i]), i == kBegin) << i;
  }

  const TemporaryFolder folder_;
};

TEST_P(BeginEmbeddingTest, StaysZeroInTrainingResumingFineTuningAndAverages) {
  const fs::path run = folder_ / "run";
  train_run(settings(), run);
  expect_zero(run / "last");
  expect_zero(run / "best");
  train_run(settings() + Settings{"train.steps=4"}, run, {.is_resumed = true});
  expect_zero(run / "last");

  const fs::path tuned = folder_ / "tuned";
  train_run(settings() + Settings{"vocabulary.file=" + run.string()}, tuned, {.from = run.string()});
  expect_zero(tuned / "last");

  const std::vector<fs::path> models = {run / "last", run / "best"};
  average_models(models, folder_ / "average");
  expect_zero(folder_ / "average");
}

TEST_P(BeginEmbeddingTest, IsLearnedByDefault) {
  train_run(settings() + Settings{"model.begin_embedding=learned"}, folder_ / "run");
  EXPECT_FALSE(is_zero(rows_of(folder_ / "run" / "last")[kBegin]));
}

INSTANTIATE_TEST_SUITE_P(Tying, BeginEmbeddingTest, testing::Values("none", "output", "all"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace edgewise
