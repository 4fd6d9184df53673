// SPDX-License-Identifier: Apache-2.0
#include "tests/nn/attention_heads.h"

#include <ATen/ops/cat.h>

#include "edgewise/ops/attend.h"

namespace edgewise {
namespace {

/// Concatenates the weights of one projection over all heads.
Linear stack_heads(const std::vector<AttentionHead>& heads, Linear AttentionHead::*projection) {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const AttentionHead& head : heads) {
    weights.push_back((head.*projection).weight);
    biases.push_back((head.*projection).bias);
  }
  Linear stacked;
  stacked.weight = at::cat(weights).detach().set_requires_grad(true);
  stacked.bias = at::cat(biases).detach().set_requires_grad(true);
  return stacked;
}

}  // namespace

AttentionHead::AttentionHead(const AttentionHeadsOptions& options, RandomStream& random)
    : query(options.size, options.key_size, Bias::kZero, random),
      key(options.size, options.key_size, Bias::kZero, random),
      value(options.size, options.value_size, Bias::kZero, random) {}

at::Tensor AttentionHead::operator()(const Relation& relation, const at::Tensor& destination_DI,
                                     const at::Tensor& source_SI) const {
  const auto as_one_head = [](const at::Tensor& x) { return x.unsqueeze(1); };
  return attend(relation, as_one_head(query(destination_DI)), as_one_head(key(source_SI)),
                as_one_head(value(source_SI)))
      .squeeze(1);
}

AttentionHeads::AttentionHeads(const AttentionHeadsOptions& options, RandomStream& random) {
  for (std::int64_t i = 0; i < options.heads; ++i) heads.emplace_back(options, random);
  output = Linear(options.heads * options.value_size, options.size, Bias::kZero, random);
}

at::Tensor AttentionHeads::operator()(const Relation& relation, const at::Tensor& destination_DI,
                                      const at::Tensor& source_SI) const {
  std::vector<at::Tensor> results;
  for (const AttentionHead& head : heads) results.push_back(head(relation, destination_DI, source_SI));
  return output(at::cat(results, /*dim=*/1));
}

MultiHeadAttention AttentionHeads::fuse() const {
  MultiHeadAttention attention;
  attention.query = stack_heads(heads, &AttentionHead::query);
  attention.key = stack_heads(heads, &AttentionHead::key);
  attention.value = stack_heads(heads, &AttentionHead::value);
  attention.output.weight = output.weight.detach().clone().set_requires_grad(true);
  attention.output.bias = output.bias.detach().clone().set_requires_grad(true);

  attention.options.heads = static_cast<std::int64_t>(heads.size());
  attention.options.input_size = attention.query.weight.size(1);
  attention.options.head_size = attention.query.weight.size(0) / attention.options.heads;
  attention.options.value_size = attention.value.weight.size(0) / attention.options.heads;
  attention.options.output_size = output.weight.size(0);
  return attention;
}

}  // namespace edgewise
