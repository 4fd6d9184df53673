// SPDX-License-Identifier: Apache-2.0
// A decoder of the first layers alone has the bits of a model that has no others.
#include "edgewise/translate/decoder_depth.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/models/models_with_exits.h"
#include "tests/runtime/runtime_models.h"
#include "tests/support/all_of.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

ModelFiles files_of(const Transformer& model) {
  ModelFiles files{
      .experiment = {}, .codec = {}, .parameters = parameter_file(model), .parameters_name = "m", .config = ""};
  files.experiment.model = model.options();
  return files;
}

TEST(DecoderDepth, GivesTheBitsOfAModelWithAsManyLayersInEachPrecision) {
  for (const TransformerOptions& options : all_kinds_with_exits()) {
    const Transformer model = random_model(options);
    for (const RuntimePrecision precision : all_of<RuntimePrecision>()) {
      for (const std::int64_t layers : {1, 3, 4}) {
        ModelFiles files = files_of(model);
        set_decoder_depth(files, {.layers = layers}, "test");
        const RuntimeModel runtime(files.experiment.model, files.parameters, "m", precision);

        const std::vector<GrownStep> found = grow_branches(*runtime.make_scorer(), kInputs, 4);
        const std::vector<GrownStep> expected =
            grow_branches(*runtime_of(truncate(model, layers), precision).make_scorer(), kInputs, 4);

        ASSERT_EQ(files.experiment.model.decoder_layers, layers);
        for (std::size_t t = 0; t < expected.size(); ++t) {
          ASSERT_EQ(found[t].result.log_probabilities, expected[t].result.log_probabilities);
        }
      }
    }
  }
}

TEST(DecoderDepth, CanHaveAnotherThresholdInAModelWithExits) {
  const Transformer model = random_model(all_kinds_with_exits().front());
  ModelFiles files = files_of(model);
  set_decoder_depth(files, {.exit_threshold = 0.25}, "test");
  EXPECT_EQ(files.experiment.model.exits.threshold, 0.25);
  EXPECT_EQ(error_of([&] { set_decoder_depth(files, {.exit_threshold = 1.5}, "test"); }),
            "test: exit_threshold is 1.5, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] { set_decoder_depth(files, {.layers = 1, .exit_threshold = 0.5}, "test"); }),
            "test: decoder_layers and exit_threshold are set, needs one of them");
  files.experiment.model.exits = {};
  EXPECT_EQ(error_of([&] { set_decoder_depth(files, {.exit_threshold = 0.5}, "test"); }),
            "test: exit_threshold is 0.5, but m has no exits, needs a model with exits");
}

TEST(DecoderDepth, IsThatOfAnExit) {
  const Transformer model = random_model(all_kinds_with_exits().front());
  for (const std::int64_t layers : {2, 5}) {
    ModelFiles files = files_of(model);
    EXPECT_EQ(error_of([&] { set_decoder_depth(files, {.layers = layers}, "test"); }),
              fmt::format("test: decoder_layers is {}, but m needs one of [1, 3, 4]", layers));
  }
  TransformerOptions plain = model.options();
  plain.exits = {};
  ModelFiles files = files_of(random_model(plain));
  EXPECT_EQ(error_of([&] { set_decoder_depth(files, {.layers = 1}, "test"); }),
            "test: decoder_layers is 1, but m needs one of [4]");
  EXPECT_EQ(error_of([&] { set_decoder_depth(files, {}, "test"); }), "no error");
  EXPECT_EQ(files.experiment.model.decoder_layers, 4);
}

}  // namespace
}  // namespace edgewise
