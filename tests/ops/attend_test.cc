// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/attend.h"

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/ops/allocation_counter.h"
#include "tests/ops/attention_inputs.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

TEST(Attend, GivesZerosToARowWithoutEdges) {
  const Relation relation = Relation::from_intervals(3, {{0, 0}, {0, 3}, {2, 2}});
  const Tensors inputs = random_inputs(relation, 2, 4, 4);

  const at::Tensor out = attend(relation, inputs[0], inputs[1], inputs[2]);

  EXPECT_TRUE(out[0].eq(0).all().item<bool>());
  EXPECT_TRUE(out[2].eq(0).all().item<bool>());
  EXPECT_FALSE(out[1].eq(0).any().item<bool>());
}

TEST(Attend, GivesZerosToARowWhoseEdgesAllScoreMinusInfinity) {
  const Relation relation = complete(2);
  Tensors inputs = random_inputs(relation, 1, 4, 4);
  inputs[3].slice(0, 0, 2).fill_(-std::numeric_limits<double>::infinity());

  for (const auto& f : {attend, attend_plain}) {
    const at::Tensor out = f(relation, inputs[0], inputs[1], inputs[2], with_bias({}, inputs[3]));

    EXPECT_TRUE(out[0].eq(0).all().item<bool>());
    EXPECT_TRUE(out[1].isfinite().all().item<bool>());
  }
}

TEST(Attend, WeightsOfARowSumToOne) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const Tensors inputs = random_inputs(relation, 3, 4, 4);

    const at::Tensor weight_EH = attention_weights(relation, inputs[0], inputs[1], with_bias({}, inputs[3]));

    EXPECT_TRUE(weight_EH.ge(0).all().item<bool>());
    for (std::int64_t row = 0; row < relation.num_destinations(); ++row) {
      if (relation.row_size(row) == 0) continue;
      const at::Tensor sum_H = weight_EH.narrow(0, relation.row_begin()[row], relation.row_size(row)).sum(0);
      expect_close(sum_H, at::ones({3}, at::kDouble).to(test_device()), "row " + std::to_string(row));
    }
  }
}

TEST(Attend, AddsBiasesOfAListOfEdgesInTheOrderOfTheirRelation) {
  const EdgeList list = {.sources = {0, 1, 2, 0}, .destinations = {1, 0, 1, 0}};
  const auto [relation, order] = Relation::from_edges_with_order(3, 2, list);
  const at::Tensor zeros = at::zeros({3, 1, 1}, at::kDouble).to(test_device());
  const at::Tensor value = at::tensor({1.0, 2.0, 3.0}).view({3, 1, 1}).to(test_device(), at::kDouble);
  const at::Tensor bias = at::tensor({100.0, 0.0, 0.0, 0.0}).view({4, 1}).to(at::kDouble);  // for the edge 0 to 1

  const at::Tensor out = attend(relation, zeros.narrow(0, 0, 2), zeros, value,
                                {.edge_bias = bias.index_select(0, at::tensor(order)).to(test_device())});

  expect_close(out.cpu().flatten(), at::tensor({1.5, 1.0}, at::kDouble), "output");
}

TEST(Attend, UsesTheWeightsThatAttentionWeightsGives) {
  const Relation relation = random_relation(12, 9, 5, /*seed=*/2);
  const Tensors inputs = random_inputs(relation, 2, 4, 3);

  const at::Tensor weight_EH = attention_weights(relation, inputs[0], inputs[1]);

  at::Tensor out_DHV = at::zeros({9, 2, 3}, at::kDouble).to(test_device());
  const EdgeList edges = relation.edges();
  for (std::int64_t e = 0; e < relation.num_edges(); ++e) {
    out_DHV[edges.destinations[e]] += weight_EH[e].unsqueeze(1) * inputs[2][edges.sources[e]];
  }
  expect_close(attend(relation, inputs[0], inputs[1], inputs[2]), out_DHV, "output");
}

TEST(Attend, IsUnchangedByAConstantAddedToAllScoresOfARow) {
  const Relation relation = causal(6);
  const Tensors inputs = random_inputs(relation, 2, 4, 4);
  at::Tensor shifted_bias = inputs[3].clone();
  shifted_bias.narrow(0, relation.row_begin()[4], relation.row_size(4)).add_(3.5);

  expect_close(attend(relation, inputs[0], inputs[1], inputs[2], with_bias({}, shifted_bias)),
               attend(relation, inputs[0], inputs[1], inputs[2], with_bias({}, inputs[3])), "output");
}

TEST(Attend, OnACausalGraphLaterTokensDoNotChangeEarlierOutputs) {
  const Relation relation = causal(8);
  Tensors inputs = random_inputs(relation, 2, 4, 4);
  const at::Tensor before = attend(relation, inputs[0], inputs[1], inputs[2]);
  for (at::Tensor& input : inputs) input = input.clone();
  for (int i = 0; i < 3; ++i) inputs[i].slice(0, 5).add_(1);

  const at::Tensor after = attend(relation, inputs[0], inputs[1], inputs[2]);

  EXPECT_TRUE(at::equal(after.slice(0, 0, 5), before.slice(0, 0, 5)));
  EXPECT_FALSE(after.slice(0, 5).eq(before.slice(0, 5)).any().item<bool>());
}

TEST(Attend, IsUnchangedByTheOrderOfARowsEdges) {
  const Relation ascending = Relation::from_csr(6, {0, 4, 6}, {0, 2, 3, 5, 1, 4});
  const Relation shuffled = Relation::from_csr(6, {0, 4, 6}, {3, 0, 5, 2, 4, 1});
  const Tensors inputs = random_inputs(ascending, 2, 4, 4);

  expect_close(attend(shuffled, inputs[0], inputs[1], inputs[2]), attend(ascending, inputs[0], inputs[1], inputs[2]),
               "output");
}

TEST(Attend, GivesTheSameBitsForBothFormsOfARelation) {
  const Relation relation = window(20, {.before = 4, .after = 1});
  const Tensors inputs = random_inputs(relation, 2, 8, 8, at::kFloat);
  auto run = [&](const Relation& form) {
    return output_and_gradients([&](const Tensors& x) { return attend(form, x[0], x[1], x[2], with_bias({}, x[3])); },
                                inputs);
  };

  const auto as_intervals = run(relation);
  const auto as_rows = run(relation.to_csr());

  for (std::size_t i = 0; i < as_rows.size(); ++i) EXPECT_TRUE(at::equal(as_rows[i], as_intervals[i])) << i;
}

TEST(Attend, GivesASentenceTheSameBitsAloneAndInABatch) {
  const std::vector<Relation> sentences = {complete(7), bipartite(3, 5), causal(9)};
  const Relation batch = join(sentences);
  const Tensors inputs = random_inputs(batch, 2, 8, 8, at::kFloat);

  const at::Tensor together = attend(batch, inputs[0], inputs[1], inputs[2]);

  std::int64_t row = 0;
  std::int64_t source = 0;
  for (const Relation& sentence : sentences) {
    auto rows_of = [&](const at::Tensor& x) { return x.narrow(0, row, sentence.num_destinations()); };
    auto sources_of = [&](const at::Tensor& x) { return x.narrow(0, source, sentence.num_sources()); };
    const at::Tensor alone = attend(sentence, rows_of(inputs[0]), sources_of(inputs[1]), sources_of(inputs[2]));
    EXPECT_TRUE(at::equal(rows_of(together), alone));
    row += sentence.num_destinations();
    source += sentence.num_sources();
  }
}

TEST(Attend, TrainsToTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const std::vector<Relation> sentences = {complete(40), bipartite(3, 30), causal(45)};
  const Relation relation = join(sentences);
  const Tensors inputs = random_inputs(relation, 4, 8, 8, at::kFloat);
  auto run = [&](int threads) {
    set_num_threads(threads);
    const AttentionOptions options = {.dropout = 0.1};
    return output_and_gradients(
        [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_bias(options, x[3])); }, inputs);
  };

  const auto expected = run(1);

  for (const int threads : {2, 3}) {
    const auto actual = run(threads);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
  }
  set_num_threads(threads_before);
}

TEST(Attend, AttentionKernelNamesThePathAndTheInstructionSet) {
  const kernels::ForcedInstructionSet forced(kernels::runnable_instruction_sets().back());
  const std::string best(kernels::instruction_set_name(kernels::instruction_set()));
  const Relation lists = random_relation(9, 9, 4, /*seed=*/8);
  auto kernel_of = [](const Relation& relation, at::ScalarType type) {
    const at::Tensor x_NHK = at::zeros({9, 2, 8}, type);
    return attention_kernel(relation, x_NHK, x_NHK);
  };

  EXPECT_EQ(kernel_of(causal(9), at::kFloat), "tiles, " + best);
  EXPECT_EQ(kernel_of(lists, at::kFloat), "rows, " + best);
  EXPECT_EQ(kernel_of(lists, at::kBFloat16), "rows, " + best);
  EXPECT_EQ(kernel_of(lists, at::kDouble), "reference");
  const kernels::ForcedInstructionSet reference(kernels::InstructionSet::kReference);
  EXPECT_EQ(kernel_of(lists, at::kFloat), "reference");
}

TEST(Attend, DropsTheGivenShareOfWeights) {
  // With equal weights and values of 1, the output is the share of weights that are not dropped, times 1 / (1 - 0.3).
  const Relation relation = bipartite(20'000, 1);
  const at::Tensor ones_S11 = at::ones({20'000, 1, 1}).to(test_device());

  const at::Tensor out = attend(relation, at::zeros({1, 1, 1}).to(test_device()), ones_S11, ones_S11,
                                {.dropout = 0.3, .dropout_key = {.seed = 1, .stream = 2}});

  EXPECT_NEAR(out.item<double>(), 1.0, 0.03);
  EXPECT_NE(out.item<double>(), 1.0);
}

TEST(Attend, ComputesGradientsOnlyForInputsThatRequireThem) {
  const Relation relation = complete(4);
  const Tensors inputs = random_inputs(relation, 1, 2, 2);
  const at::Tensor query = inputs[0].detach().requires_grad_();

  const at::Tensor weight = normal({4, 1, 2}, 9);
  (attend(relation, query, inputs[1], inputs[2], with_bias({}, inputs[3])) * weight).sum().backward();

  const at::Tensor expected = inputs[0].detach().requires_grad_();
  (attend_plain(relation, expected, inputs[1], inputs[2], with_bias({}, inputs[3])) * weight).sum().backward();
  expect_close(query.grad(), expected.grad(), "gradient of query");
  for (std::size_t i = 1; i < 4; ++i) EXPECT_FALSE(inputs[i].grad().defined()) << i;
  EXPECT_FALSE(attend(relation, inputs[0], inputs[1], inputs[2]).requires_grad());
}

TEST(Attend, KeepsTheRelationUntilBackward) {
  const Tensors inputs = random_inputs(causal(5), 1, 3, 3);
  const at::Tensor weight = normal({5, 1, 3}, 9);
  const Relation kept = causal(5).to_csr();
  const at::Tensor expected = inputs[0].detach().requires_grad_();
  (attend(kept, expected, inputs[1], inputs[2]) * weight).sum().backward();

  const at::Tensor query = inputs[0].detach().requires_grad_();
  at::Tensor out;
  {
    const Relation relation = causal(5).to_csr();
    out = attend(relation, query, inputs[1], inputs[2]);
  }
  (out * weight).sum().backward();

  EXPECT_GT(expected.grad().abs().max().item<double>(), 0.01);
  EXPECT_TRUE(query.grad().equal(expected.grad()));
}

TEST(Attend, TakesMemoryInProportionToNodesNotToEdges) {
  constexpr std::int64_t kNodes = 2000;
  const Relation relation = complete(kNodes);
  const Tensors inputs = random_inputs(relation, 1, 2, 2, at::kFloat);
  const std::int64_t bytes_of_all_weights = relation.num_edges() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t bytes_of_all_inputs = 3 * inputs[0].numel() * static_cast<std::int64_t>(sizeof(float));

  const std::int64_t peak = peak_allocation([&] {
    const at::Tensor query = inputs[0].detach().requires_grad_();
    attend(relation, query, inputs[1], inputs[2], {.dropout = 0.1}).sum().backward();
  });

  EXPECT_GT(peak, bytes_of_all_inputs);  // checks that the counter works
  EXPECT_LT(peak, bytes_of_all_weights / 50);
}

TEST(Attend, OverAWindowOf65536NodesTakesLessThanTwoGigabytesWithItsInputsAndGradients) {
  constexpr std::int64_t kNodes = 65'536;
  const std::int64_t peak = peak_allocation([&] {
    Tensors inputs;
    for (const int seed : {1, 2, 3}) inputs.push_back(normal({kNodes, 8, 64}, seed, at::kFloat).requires_grad_());
    attend(window(kNodes, {.before = 128, .after = 128}), inputs[0], inputs[1], inputs[2]).sum().backward();
    EXPECT_GT(inputs[2].grad().min().item<float>(), 0);
  });
  EXPECT_LT(peak, 2'000'000'000);
}

}  // namespace
}  // namespace edgewise
