// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/kernel_tests.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "edgewise/doctor/random_numbers.h"
#include "edgewise/graph/builders.h"
#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/norm/add_norm.h"

namespace edgewise {
namespace {

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kHeadSize = 24;
constexpr std::int64_t kValueSize = 20;

template <typename T>
struct AttentionInputs {
  std::vector<T> query, key, value, grad_out;
};

template <typename T>
struct AttentionOutputs {
  std::vector<T> out, log_normalizer, grad_query, grad_key, grad_value;
};

AttentionInputs<float> draw_inputs(const Relation& relation) {
  RandomStream random(/*seed=*/3);
  const std::int64_t rows = relation.num_destinations() * kHeads;
  const std::int64_t sources = relation.num_sources() * kHeads;
  return {.query = draw_numbers(rows * kHeadSize, random),
          .key = draw_numbers(sources * kHeadSize, random),
          .value = draw_numbers(sources * kValueSize, random),
          .grad_out = draw_numbers(rows * kValueSize, random)};
}

AttentionInputs<double> in_double(const AttentionInputs<float>& inputs) {
  const auto convert = [](const std::vector<float>& numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  return {convert(inputs.query), convert(inputs.key), convert(inputs.value), convert(inputs.grad_out)};
}

/// Computes attention by `forward` and its gradients by `backward`.
template <typename T, class Forward, class Backward>
AttentionOutputs<T> attend(const AttentionInputs<T>& inputs, Forward forward, Backward backward) {
  AttentionOutputs<T> outputs = {.out = std::vector<T>(inputs.grad_out.size()),
                                 .log_normalizer = std::vector<T>(inputs.query.size() / kHeadSize),
                                 .grad_query = std::vector<T>(inputs.query.size()),
                                 .grad_key = std::vector<T>(inputs.key.size()),
                                 .grad_value = std::vector<T>(inputs.value.size())};
  const kernels::AttentionForward<T> arguments = {.query = inputs.query.data(),
                                                  .key = inputs.key.data(),
                                                  .value = inputs.value.data(),
                                                  .edge_bias = nullptr,
                                                  .out = outputs.out.data(),
                                                  .log_normalizer = outputs.log_normalizer.data(),
                                                  .num_heads = kHeads,
                                                  .head_size = kHeadSize,
                                                  .value_size = kValueSize,
                                                  .scale = T{2},
                                                  .clamp = std::numeric_limits<T>::infinity(),
                                                  .dropout = {}};
  forward(arguments);
  backward(kernels::AttentionBackward<T>{arguments, inputs.grad_out.data(), outputs.grad_query.data(),
                                         outputs.grad_key.data(), outputs.grad_value.data(), nullptr});
  return outputs;
}

/// Compares attention over a relation with the reference in double.
Finding test_attention(const Relation& relation) {
  const AttentionInputs<float> inputs = draw_inputs(relation);
  const kernels::AttentionPlan plan(relation.view());
  const RelationView view = relation.view();
  const auto found = attend(
      inputs, [&](const auto& p) { kernels::attention_forward(p, plan); },
      [&](const auto& p) { kernels::attention_backward(p, plan); });
  const auto expected = attend(
      in_double(inputs), [&](const auto& p) { kernels::reference::attention_forward(p, view); },
      [&](const auto& p) { kernels::reference::attention_backward(p, view); });
  Comparison comparison;
  comparison.add_sums(found.out, expected.out);
  comparison.add_sums(found.log_normalizer, expected.log_normalizer);
  comparison.add_sums(found.grad_query, expected.grad_query);
  comparison.add_sums(found.grad_key, expected.grad_key);
  comparison.add_sums(found.grad_value, expected.grad_value);
  return comparison.finding();
}

}  // namespace

Finding test_embedding() {
  constexpr std::int64_t kTokens = 300;
  constexpr std::int64_t kVocabularySize = 50;
  constexpr std::int64_t kEmbeddingSize = 45;
  RandomStream random(/*seed=*/4);
  const std::vector<float> weight = draw_numbers(kVocabularySize * kEmbeddingSize, random);
  const std::vector<float> positions_table = draw_numbers(kTokens * kEmbeddingSize, random);
  std::vector<std::int64_t> tokens, positions;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    tokens.push_back(static_cast<std::int64_t>(random.next_below(kVocabularySize)));
    positions.push_back(i);
  }
  std::vector<float> out(static_cast<std::size_t>(kTokens * kEmbeddingSize));
  kernels::embed_forward<float>({.weight = weight.data(),
                                 .tokens = tokens.data(),
                                 .position_table = positions_table.data(),
                                 .positions = positions.data(),
                                 .out = out.data(),
                                 .num_tokens = kTokens,
                                 .size = kEmbeddingSize,
                                 .scale = 6.7f,
                                 .dropout = {.rate = 0.3, .seed = 5, .stream = 6},
                                 .word_dropout = {.rate = 0.2, .seed = 5, .stream = 7}});
  return compare_bits(out, "0fc1faa591351b0b");
}

Finding test_norm() {
  constexpr std::int64_t kRows = 60;
  constexpr std::int64_t kColumns = 333;
  constexpr double kEpsilon = 1e-5;
  RandomStream random(/*seed=*/5);
  const std::vector<float> x = draw_numbers(kRows * kColumns, random);
  const std::vector<float> y = draw_numbers(kRows * kColumns, random);
  const std::vector<float> gain = draw_numbers(kColumns, random);
  const std::vector<float> bias = draw_numbers(kColumns, random);
  std::vector<float> sum(x.size()), normed(x.size()), mean(kRows), deviation(kRows);
  kernels::add_norm_forward<float, float, float>({.x = x.data(),
                                                  .y = y.data(),
                                                  .gain = gain.data(),
                                                  .bias = bias.data(),
                                                  .sum = sum.data(),
                                                  .normed = normed.data(),
                                                  .mean = mean.data(),
                                                  .deviation = deviation.data(),
                                                  .num_rows = kRows,
                                                  .size = kColumns,
                                                  .formula = kernels::NormFormula::layer_norm(kColumns, kEpsilon),
                                                  .dropout = {.rate = 0.1, .seed = 8, .stream = 9}});
  if (Finding bits = compare_bits(sum, "16646ff3fc66f272"); !bits.is_right) return bits;
  std::vector<double> expected;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const float* values = sum.data() + row * kColumns;
    double row_mean = 0;
    for (std::int64_t i = 0; i < kColumns; ++i) row_mean += values[i] / static_cast<double>(kColumns);
    double variance = 0;
    for (std::int64_t i = 0; i < kColumns; ++i)
      variance += std::pow(values[i] - row_mean, 2) / static_cast<double>(kColumns);
    for (std::int64_t i = 0; i < kColumns; ++i) {
      expected.push_back((values[i] - row_mean) / std::sqrt(variance + kEpsilon) * gain[i] + bias[i]);
    }
  }
  Comparison comparison;
  comparison.add_sums(normed, expected);
  return comparison.finding();
}

Finding test_interval_attention() { return test_attention(causal(90)); }
Finding test_csr_attention() { return test_attention(random_relation(400, 300, 8, /*seed=*/1)); }

}  // namespace edgewise
