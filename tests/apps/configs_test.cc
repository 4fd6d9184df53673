// SPDX-License-Identifier: Apache-2.0
// The configs and the tutorial example of the repository.
#include <algorithm>

#include "edgewise/base/config/config.h"
#include "edgewise/models/transformer.h"
#include "edgewise/options/experiment.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

using ShippedConfig = testing::TestWithParam<std::string>;

TEST_P(ShippedConfig, KeepsItsValuesWhenItIsReadAndSaved) {
  const auto file = std::filesystem::path(EDGEWISE_SOURCE) / "configs" / (GetParam() + ".toml");

  const Experiment experiment = read_experiment(file);

  const std::string saved = to_toml(experiment);
  EXPECT_EQ(to_toml(parse_experiment(saved, "saved")), saved);
  TransformerOptions model = experiment.model;
  model.input_vocabulary = model.output_vocabulary = 10;
  EXPECT_NO_THROW(check_options(model));
}

INSTANTIATE_TEST_SUITE_P(, ShippedConfig,
                         testing::Values("copy", "copy-best", "copy-universal", "d2l-en-fr", "demo", "demo-universal",
                                         "multi30k-base", "multi30k-best", "multi30k-tiny", "shakespeare",
                                         "shakespeare-small", "sort", "sort-universal", "wmt14-base"),
                         [](const auto& config) {
                           std::string name = config.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Experiment, TakesMissingValuesFromThePreset) {
  const Experiment chapter = parse_experiment("[model]\npreset = \"chapter\"\nsize = 32", "test");

  EXPECT_EQ(chapter.model.norm_placement, NormPlacement::kPost);
  EXPECT_EQ(chapter.model.size, 32);
  EXPECT_EQ(parse_experiment("", "test").model.norm_placement, NormPlacement::kPre);
}

TEST(Experiment, PrefersAnOptionToItsPreset) {
  const Experiment mixed = parse_experiment("[model]\npreset = \"chapter\"\nnorm_placement = \"pre\"", "test");

  EXPECT_EQ(mixed.model.norm_placement, NormPlacement::kPre);
}

TEST(TutorialExample, NumbersTheGraphAsTheTutorialDoesAndTrainsByMessagePassing) {
  const ProcessResult result = run_process({EDGEWISE_TUTORIAL, "1", "512"});

  EXPECT_EQ(result.exit_code, 0) << result.errors;
  for (const char* line : {"encoder nodes    0 to 8\n", "decoder nodes    9 to 18\n", "ee edges         0 to 80\n",
                           "ed edges         81 to 170\n", "dd edges         171 to 225\n"}) {
    EXPECT_NE(result.output.find(line), std::string::npos) << line;
  }
  EXPECT_NE(result.output.find("epoch 1 validation: loss"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace edgewise
