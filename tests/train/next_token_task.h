// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/data/batches.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// A minimal model: a table of logits predicts the next output token from the present output token. As in a model with
/// dropout, the loss also depends on the random numbers of the pass.
class NextTokenTask : public TrainingTask {
 public:
  static constexpr std::int64_t kTokens = 12;

  struct Options {
    at::ScalarType dtype = at::kFloat;
    double noise = 0.0;  // largest random relative increase of a batch's loss
    std::int64_t tokens = kTokens;
    std::string kind = "next_token";
  };

  NextTokenTask() : NextTokenTask(Options{}) {}
  explicit NextTokenTask(Options options)
      : options_(std::move(options)), table_(parameter({options_.tokens, kTokens})), bias_(parameter({kTokens})) {}

  std::string kind() const override { return options_.kind; }
  std::int64_t size() const override { return 16; }
  std::vector<NamedTensor> parameters() override { return {{"table", table_}, {"bias", bias_}}; }
  std::map<std::string, std::string> model_files() override { return {{"config.toml", "tokens = 12\n"}}; }

  BatchLoss loss(const Batch& batch, Pass& pass) override {
    BatchLoss loss = exact_loss(batch);
    const DropoutKey key = pass.next_key();
    RandomStream random(key.seed, key.stream);
    loss.objective = loss.objective * ((1.0 + options_.noise * random.uniform()) * loss_factor(++num_losses));
    loss.counts.loss = loss.objective.item<double>();
    return loss;
  }

  bool can_validate() const override { return has_validation; }
  Validation validate(const StopRequest& stop) override {
    if (on_validate) return on_validate();
    throw_if_set(&stop);
    LossSums sums;
    for (const Batch& batch : batches_in_order(pairs(), {})) {
      sums += exact_loss(batch).sums();
    }
    const auto tokens = static_cast<double>(sums.tokens);
    return {.loss = sums.loss / tokens, .accuracy = static_cast<double>(sums.correct) / tokens};
  }

  /// Returns pairs whose outputs are arithmetic sequences of tokens.
  static std::vector<TokenPair> pairs() {
    std::vector<TokenPair> pairs;
    for (std::int64_t i = 0; i < 23; ++i) {
      TokenPair pair = {.input = {i}, .output = {0}};
      for (std::int64_t length = 1 + i % 5; length > 0; --length) pair.output.push_back((i + 3 * length) % kTokens);
      pairs.push_back(std::move(pair));
    }
    return pairs;
  }

  at::Tensor table() const { return table_; }
  at::Tensor bias() const { return bias_; }

  // Tests may turn off validation, replace its result, and multiply the loss by a factor.
  bool has_validation = true;
  std::function<Validation()> on_validate;
  std::function<double(std::int64_t)> loss_factor = [](std::int64_t) { return 1.0; };
  std::int64_t num_losses = 0;

 private:
  at::Tensor parameter(at::IntArrayRef shape) const {
    return at::linspace(-0.5, 0.5, c10::multiply_integers(shape), options_.dtype)
        .view(shape)
        .clone()
        .set_requires_grad(true);
  }

  BatchLoss exact_loss(const Batch& batch) const {
    const at::Tensor logits = table_.index_select(0, at::tensor(batch.output_tokens)) + bias_;
    const at::Tensor labels = at::tensor(batch.labels);
    const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum);
    return {.objective = loss,
            .counts = {.loss = loss.item<double>(),
                       .tokens = labels.numel(),
                       .correct = logits.argmax(1).eq(labels).sum().item<std::int64_t>()}};
  }

  Options options_;
  at::Tensor table_;
  at::Tensor bias_;
};

}  // namespace edgewise
