// SPDX-License-Identifier: Apache-2.0
// A request to stop ends each part of an evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/text/bleu.h"

namespace edgewise {
namespace {

/// A model whose loss is NaN, so that an evaluation does not search. Sets a request when it computes its first loss.
class StoppingModel : public SequenceModel {
 public:
  explicit StoppingModel(StopRequest& stop) : stop_(stop) {}

  const TransformerOptions& options() const override { return options_; }
  std::vector<NamedTensor> parameters() const override { return {}; }
  BatchLoss loss(const Batch& batch, const LossOptions&, double, Pass&) const override {
    ++num_losses;
    stop_ = true;
    return {.objective = {},
            .sums = {.loss = std::numeric_limits<double>::quiet_NaN(), .tokens = std::ssize(batch.labels)}};
  }
  NodePonderSteps ponder_steps(const Batch&) const override { return {}; }
  std::unique_ptr<Scorer> make_scorer(CrossHeads) const override { return nullptr; }

  mutable int num_losses = 0;

 private:
  StopRequest& stop_;
  TransformerOptions options_;
};

/// A model, and the five batches of a validation set.
class StopTest : public testing::Test {
 protected:
  StopTest()
      : model_(std::make_shared<StoppingModel>(stop_)),
        experiment_(parse_experiment("[data]\ntask = \"copy\"\ntrain_size = 20\nvalid_size = 20\n[vocabulary]\nshared "
                                     "= true\n[batch]\ntokens = 0\nsentences = 4\n",
                                     "test")),
        corpus_(load_corpus(experiment_.data, "")) {
    translation_ = {experiment_, make_vocabularies(experiment_.vocabulary, corpus_), model_};
  }

  EvaluationPairs encode(const StopRequest* stop = nullptr) const {
    return encode_evaluation_pairs(experiment_, corpus_.valid, translation_.vocabularies, stop);
  }

  StopRequest stop_ = false;
  std::shared_ptr<StoppingModel> model_;
  Experiment experiment_;
  Corpus corpus_;
  TranslationModel translation_;
};

TEST_F(StopTest, AnEvaluationReadsTheRequestBetweenBatches) {
  EXPECT_THROW(evaluate(translation_, encode(), &stop_), StopException);
  EXPECT_EQ(model_->num_losses, 1);
}

TEST_F(StopTest, AnEvaluationWithoutARequestComputesAllBatches) {
  EXPECT_TRUE(std::isnan(evaluate(translation_, encode()).loss));
  EXPECT_EQ(model_->num_losses, 5);
}

TEST_F(StopTest, EncodingAndBatchingAndBleuReadTheRequest) {
  const EvaluationPairs pairs = encode();
  stop_ = true;
  EXPECT_THROW(encode(&stop_), StopException);
  EXPECT_THROW(batches_in_order(pairs.encoded.pairs, experiment_.batch, &stop_), StopException);
  EXPECT_THROW(bleu(corpus_.valid.outputs, corpus_.valid.outputs, {}, &stop_), StopException);
  EXPECT_THROW(evaluate(translation_, corpus_.valid, &stop_), StopException);
  EXPECT_EQ(model_->num_losses, 0);
}

}  // namespace
}  // namespace edgewise
