// SPDX-License-Identifier: Apache-2.0
// Training steps on the device `meta`, whose tensors have no numbers: reading a number, or mixing devices, throws. So
// these tests list everything for which a step on any device waits.
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgewise/experiment/evaluate.h"
#include "edgewise/ops/device_copies.h"
#include "tests/experiment/small_training.h"
#include "tests/support/meta_parameters.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

/// Runs two training steps on the device `meta`. Returns the sizes of the tensors that they read.
std::vector<std::int64_t> train_on_meta(const std::vector<std::string>& settings) {
  SmallTraining training(settings);
  move_to_meta(training.task().parameters());
  Updater update(training.options(), training.task(), training.batches(), single_process(), at::kMeta);
  const HostReads reads;
  for (std::int64_t step = 1; step <= 2; ++step) EXPECT_TRUE(update(step).is_applied());
  for (const NamedTensor& parameter : training.task().parameters()) {
    EXPECT_TRUE(parameter.tensor.is_meta() && parameter.tensor.grad().is_meta()) << parameter.name;
  }
  return reads.sizes();
}

TEST(TrainingStepOnADevice, WaitsOnlyForItsLossItsCorrectTokensAndItsGradientNorm) {
  EXPECT_THAT(train_on_meta({}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"train.precision=bf16", "train.accumulate=2", "train.rdrop=1"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"train.simcut=1", "train.cut=0.5"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"train.quantise=int8"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"model.score=additive", "model.norm=std_norm"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"model.exits.layers=[1]"}), ElementsAre(3, 3));
  EXPECT_THAT(train_on_meta({"model.exits.layers=[1]", "train.part=halting"}), ElementsAre(3, 3));
}

TEST(TrainingStepOnADevice, WaitsOnceForAllVirtualRanks) {
  EXPECT_THAT(train_on_meta({"train.virtual_ranks=2"}), ElementsAre(5, 5));
}

TEST(TrainingStepOnADevice, WaitsForTheHaltingProbabilitiesOfAUniversalTransformer) {
  const std::vector<std::int64_t> sizes = train_on_meta({"model.kind=universal"});
  EXPECT_EQ(sizes.size(), 2 * (2 + 2 + 1U));  // two steps of the encoder, two of the decoder, and the results
}

/// Computes the loss of a validation batch on the device `meta`. Returns the sizes of the tensors that it reads.
std::vector<std::int64_t> validate_on_meta(const std::vector<std::string>& settings) {
  const Experiment experiment = small_experiment(settings);
  const Corpus corpus = load_corpus(experiment.data, "");
  const Vocabularies vocabularies = make_vocabularies(experiment.vocabulary, corpus);
  const TranslationModel model = {experiment, vocabularies,
                                  make_model(transformer_options(experiment, vocabularies), 3)};
  const SentencePairs sentences = {{"a b c", "b"}, {"c b a", "b"}, {}};
  const EvaluationPairs pairs = encode_evaluation_pairs(experiment, sentences, vocabularies);
  move_to_meta(model.model->parameters());
  const at::NoGradGuard no_gradients;
  const HostReads reads;
  Pass pass = Pass::inference();
  const BatchLoss loss = model.model->loss(make_batch(pairs.encoded.pairs), model.loss_options(), /*added=*/{}, pass);
  EXPECT_TRUE(loss.objective.is_meta());
  EXPECT_EQ(loss.sums().tokens, 6);
  return reads.sizes();
}

TEST(ValidationOnADevice, WaitsOnceForTheLossAndTheCorrectTokensOfABatch) {
  EXPECT_THAT(validate_on_meta({}), ElementsAre(2));
  EXPECT_THAT(validate_on_meta({"model.score=additive", "model.norm=std_norm"}), ElementsAre(2));
  EXPECT_THAT(validate_on_meta({"model.preset=chapter", "model.tying=all"}), ElementsAre(2));
}

TEST(ValidationOnADevice, WaitsForTheHaltingProbabilitiesOfAUniversalTransformer) {
  EXPECT_EQ(validate_on_meta({"model.kind=universal"}).size(), 2 + 2 + 1U);
}

}  // namespace
}  // namespace edgewise
