// SPDX-License-Identifier: Apache-2.0
// Training steps on the device `meta`, whose tensors have no numbers: reading a number, or mixing devices, throws. So
// these tests list everything for which a step on any device waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "edgewise/data/encoded_text.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/ops/host_read.h"
#include "edgewise/train/updater.h"
#include "tests/support/meta_parameters.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

/// Runs two training steps on the device `meta`. Returns the sizes of the tensors that they read.
std::vector<std::int64_t> train_on_meta(const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"data.task=copy",         "data.train_size=24", "data.valid_size=0",
                                  "data.test_size=0",       "data.symbols=5",     "vocabulary.shared=true",
                                  "batch.tokens=0",         "batch.sentences=6",  "model.encoder_layers=2",
                                  "model.decoder_layers=2", "model.size=12",      "model.heads=2",
                                  "model.feed_forward=10",  "train.clip_norm=1"};
  all.insert(all.end(), settings.begin(), settings.end());
  const Experiment experiment = parse_experiment("", "device", all);
  Corpus corpus = load_corpus(experiment.data, "");
  const Vocabularies vocabularies = make_vocabularies(experiment.vocabulary, corpus);
  TranslationTask task({experiment, vocabularies, make_model(transformer_options(experiment, vocabularies), 3)}, {});
  const PairEncoder encoder(vocabularies.input, vocabularies.output, make_encode_options(experiment.data));
  BatchShares batches(std::make_shared<EncodedText>(corpus.train, encoder), experiment.batch, 1,
                      virtual_ranks_of(experiment.train, single_process()));
  move_to_meta(task.parameters());
  Updater update(experiment.train, task, batches, single_process(), at::kMeta);
  const HostReads reads;
  for (std::int64_t step = 1; step <= 2; ++step) EXPECT_TRUE(update(step).is_applied());
  for (const NamedTensor& parameter : task.parameters()) {
    EXPECT_TRUE(parameter.tensor.is_meta() && parameter.tensor.grad().is_meta()) << parameter.name;
  }
  return reads.sizes();
}

TEST(TrainingStepOnADevice, WaitsOnlyForItsLossItsCorrectTokensAndItsGradientNorm) {
  EXPECT_THAT(train_on_meta({}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"train.precision=bf16", "train.accumulate=2", "train.rdrop=1"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"model.score=additive", "model.norm=std_norm"}), ElementsAre(3, 3));
}

TEST(TrainingStepOnADevice, WaitsOnceForAllVirtualRanks) {
  EXPECT_THAT(train_on_meta({"train.virtual_ranks=2"}), ElementsAre(5, 5));
}

TEST(TrainingStepOnADevice, WaitsForTheHaltingProbabilitiesOfAUniversalTransformer) {
  const std::vector<std::int64_t> sizes = train_on_meta({"model.kind=universal"});
  EXPECT_EQ(sizes.size(), 2 * (2 + 2 + 1U));  // two steps of the encoder, two of the decoder, and the results
}

}  // namespace
}  // namespace edgewise
