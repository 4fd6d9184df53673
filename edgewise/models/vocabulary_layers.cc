// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/vocabulary_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "edgewise/ops/projected_loss.h"

namespace edgewise {

VocabularyLayers::VocabularyLayers(const TransformerOptions& options, std::uint64_t seed, RandomStream& random) {
  if (has_encoder(options.kind)) {
    input_embedding = Embedding(options.input_vocabulary, options.size, options.embedding_init, random);
  }
  output_embedding = Embedding(options.output_vocabulary, options.size, options.embedding_init, random);
  RandomStream projection_random(seed, /*stream=*/1);
  const Bias bias = options.output_bias ? Bias::kZero : Bias::kNone;
  output_projection = Linear(options.size, options.output_vocabulary, bias, projection_random);

  if (options.tying == Tying::kAll) output_embedding.weight = input_embedding.weight;
  if (options.tying != Tying::kNone) output_projection.weight = output_embedding.weight;
  if (options.begin_embedding == BeginEmbedding::kZero) {
    const at::NoGradGuard no_gradients;
    output_embedding.weight.select(0, options.begin_token).zero_();
  }
  if (options.scale_embedding) {
    input_embedding.scale = output_embedding.scale = std::sqrt(static_cast<double>(options.size));
  }
}

BatchLoss VocabularyLayers::loss(const at::Tensor& state_DM, const std::vector<std::int64_t>& labels,
                                 const Consistency& consistency, const LossOptions& options) const {
  const at::Tensor labels_D = at::tensor(labels);
  const at::Tensor operand_DM = output_projection.operand(state_DM);
  const auto& [weight, bias] = output_projection.weights();
  return consistency.has_two_passes()
             ? projected_consistency_loss(operand_DM, weight, bias, labels_D, consistency, options)
             : projected_loss(operand_DM, weight, bias, labels_D, options);
}

BatchLoss VocabularyLayers::weighted_loss(const std::vector<at::Tensor>& states, const std::vector<double>& weights,
                                          const std::vector<std::int64_t>& labels, const Consistency& consistency,
                                          const LossOptions& options) const {
  BatchLoss last = loss(states.back(), labels, consistency, options);
  if (states.size() == 1) return last;
  at::Tensor objective = last.objective * weights.back();
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    BatchLoss& exit = last.exits.emplace_back(loss(states[i], labels, consistency, options));
    objective = objective + exit.objective * weights[i];
    exit.objective = exit.objective.detach();
  }
  last.objective = objective;
  return last;
}

at::Tensor VocabularyLayers::best_tokens(const at::Tensor& state_DM) const {
  constexpr std::int64_t kBlock = 512;
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> tokens;
  for (const at::Tensor& block : state_DM.split(kBlock)) tokens.push_back(output_projection(block).argmax(1));
  return at::cat(tokens);
}

}  // namespace edgewise
