// SPDX-License-Identifier: Apache-2.0
// A request to stop ends each part of an evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/data/batches.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/text/metrics/bleu.h"
#include "tests/distributed/process_threads.h"

namespace edgewise {
namespace {

/// A model whose loss is NaN, so that an evaluation does not search. Sets a request when it computes its first loss.
class StoppingModel : public SequenceModel {
 public:
  explicit StoppingModel(StopRequest& stop) : stop_(stop) {
    options_.input_vocabulary = options_.output_vocabulary = 8;
  }

  const TransformerOptions& options() const override { return options_; }
  std::vector<NamedTensor> parameters() const override { return {}; }
  BatchLoss loss(const Batch& batch, const LossOptions&, const AddedLosses&, Pass&) const override {
    ++num_losses;
    stop_ = true;
    return {.objective = {},
            .counts = {.loss = std::numeric_limits<double>::quiet_NaN(), .tokens = std::ssize(batch.labels)}};
  }
  NodePonderSteps ponder_steps(const Batch&) const override { return {}; }

  mutable int num_losses = 0;

 private:
  StopRequest& stop_;
  TransformerOptions options_;
};

/// Sets a request when a pass of a model begins, and counts the passes that end.
class ModelThatIsStopped : public SequenceModel {
 public:
  ModelThatIsStopped(std::shared_ptr<const SequenceModel> model, StopRequest& stop)
      : model_(std::move(model)), stop_(stop) {}

  const TransformerOptions& options() const override { return model_->options(); }
  std::vector<NamedTensor> parameters() const override { return model_->parameters(); }
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const override {
    stop_ = true;
    BatchLoss loss = model_->loss(batch, options, added, pass);
    ++num_ended;
    return loss;
  }
  NodePonderSteps ponder_steps(const Batch& batch) const override {
    stop_ = true;
    NodePonderSteps steps = model_->ponder_steps(batch);
    ++num_ended;
    return steps;
  }

  mutable int num_ended = 0;

 private:
  std::shared_ptr<const SequenceModel> model_;
  StopRequest& stop_;
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

TEST_F(StopTest, AnEvaluationOfSeveralProcessesStopsInAllIfOneIsStoppedBeforeItsFirstBatch) {
  const EvaluationPairs pairs = encode();
  for (std::int64_t stopped = 0; stopped < 2; ++stopped) {
    run_as_processes(2, [&](ProcessGroup& processes) {
      const StopRequest stop = processes.rank() == stopped;
      EXPECT_THROW(evaluate(translation_, pairs, &stop, processes), StopException);
      EXPECT_FALSE(is_any_set(processes, false));  // no process waits for an earlier exchange
    });
  }
  EXPECT_EQ(model_->num_losses, 0);
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

TEST_F(StopTest, PackingForASearchReadsTheRequestBeforeTheFirstParameter) {
  stop_ = true;
  EXPECT_THROW(translate(translation_, {"a"}, &stop_), StopException);  // without the request: parameters are missing
  stop_ = false;
  EXPECT_THROW(translate(translation_, {"a"}, &stop_), Error);
}

TEST_F(StopTest, TheRecordingOfAttentionReadsTheRequestInAPassOfTheModel) {
  for (const ModelKind kind : {ModelKind::kTransformer, ModelKind::kUniversal}) {
    SCOPED_TRACE(enum_name(kind));
    TransformerOptions options = transformer_options(experiment_, translation_.vocabularies);
    options.kind = kind;
    options.size = options.feed_forward = 16;
    options.heads = 2;
    const auto model = std::make_shared<ModelThatIsStopped>(make_model(options, /*seed=*/1), stop_);
    const TranslationModel translation = {experiment_, translation_.vocabularies, model};
    const TokenPair pair = encode_pair(translation, "a b", "b a", "test");
    stop_ = false;

    EXPECT_THROW(attention_maps(translation, pair, &stop_), StopException);

    EXPECT_EQ(model->num_ended, 0);
    EXPECT_EQ(attention_maps(translation, pair).size(), 3U);
  }
}

TEST_F(StopTest, TheTextOfAttentionMapsReadsTheRequestBeforeEachHead) {
  const AttentionMaps maps = {.name = "cross-attention",
                              .layer_name = "layer",
                              .row_title = "output",
                              .column_title = "input",
                              .rows = {"a"},
                              .columns = {"b"},
                              .weights = {{{1.0f}}}};
  EXPECT_EQ(json_of(maps, &stop_), json_of(maps));
  stop_ = true;
  EXPECT_THROW(json_of(maps, &stop_), StopException);
}

}  // namespace
}  // namespace edgewise
