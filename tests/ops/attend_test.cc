// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/attend.h"

#include <rapidcheck.h>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/instruction_set.h"
#include "tests/ops/allocation_counter.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

using Tensors = std::vector<at::Tensor>;

struct NamedAttention {
  std::string name;
  AttentionOptions options;
};

std::vector<NamedAttention> option_zoo() {
  return {{"defaults", {}},
          {"scale", {.scale = 0.3}},
          {"clamp", {.clamp = 0.4}},
          {"dropout", {.dropout = 0.3, .dropout_key = {.seed = 5, .stream = 6}}},
          {"all", {.scale = 0.8, .dropout = 0.3, .dropout_key = {.seed = 5, .stream = 7}, .clamp = 0.7}}};
}

AttentionOptions with_bias(AttentionOptions options, const at::Tensor& edge_bias) {
  options.edge_bias = edge_bias;
  return options;
}

// query, key, value and edge bias for a relation.
Tensors random_inputs(const Relation& relation, std::int64_t heads, std::int64_t head_size, std::int64_t value_size,
                      at::ScalarType type = at::kDouble) {
  return {normal({relation.num_destinations(), heads, head_size}, 1, type),
          normal({relation.num_sources(), heads, head_size}, 2, type),
          normal({relation.num_sources(), heads, value_size}, 3, type),
          normal({relation.num_edges(), heads}, 4, type == at::kBFloat16 ? at::kFloat : type)};
}

Tensors in_double(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.to(at::kDouble));
  return result;
}

// Holds attend, by every kernel of this machine, to its definition in fp64, in output and gradients; the inputs are
// query, key, value and, where there is a fourth, edge bias.
void expect_is_definition(const Relation& relation, const AttentionOptions& options, const Tensors& inputs) {
  auto bias_of = [](const Tensors& x) { return x.size() > 3 ? x[3] : at::Tensor(); };
  for (const auto set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(std::string(kernels::instruction_set_name(set)));
    const kernels::ForcedInstructionSet forced(set);
    expect_same_function(
        [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_bias(options, bias_of(x))); },
        [&](const Tensors& x) {
          const Tensors exact = in_double(x);
          return attend_plain(relation, exact[0], exact[1], exact[2], with_bias(options, bias_of(exact)))
              .to(x[0].scalar_type());
        },
        inputs);
  }
}

class AttendOfType : public testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, AttendOfType, testing::Values(at::kFloat, at::kBFloat16, at::kDouble),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

TEST_P(AttendOfType, IsItsDefinitionInOutputAndGradients) {
  for (const auto& [relation_name, relation] : relation_zoo()) {
    for (const auto& [option_name, options] : option_zoo()) {
      for (const Relation& form : {relation, relation.to_rows()}) {
        SCOPED_TRACE(relation_name + ", " + option_name);
        expect_is_definition(form, options, random_inputs(form, 2, 5, 3, GetParam()));
      }
    }
  }
}

TEST_P(AttendOfType, IsItsDefinitionForEveryHeadSize) {
  for (const Relation& relation : {window(9, {.before = 2, .after = 3}), random_relation(9, 9, 4, /*seed=*/8)}) {
    for (const std::int64_t head_size : {1, 2, 7, 8, 9, 16, 33, 64, 257}) {
      for (const std::int64_t heads : {1, 3}) {
        SCOPED_TRACE("heads " + std::to_string(heads) + ", head size " + std::to_string(head_size));
        Tensors inputs = random_inputs(relation, heads, head_size, head_size, GetParam());
        inputs.pop_back();
        expect_is_definition(relation, {}, inputs);
      }
    }
  }
}

TEST_P(AttendOfType, WeightsAreTheirDefinitionInOutputAndGradients) {
  for (const auto& [relation_name, relation] : relation_zoo()) {
    for (const auto& [option_name, options] : option_zoo()) {
      SCOPED_TRACE(relation_name + ", " + option_name);
      const Tensors inputs = random_inputs(relation, 2, 5, 3, GetParam());
      expect_same_function(
          [&, &r = relation, &o = options](const Tensors& x) {
            return attention_weights(r, x[0], x[1], with_bias(o, x[2]));
          },
          [&, &r = relation, &o = options](const Tensors& x) {
            const Tensors exact = in_double(x);
            return attention_weights_plain(r, exact[0], exact[1], with_bias(o, exact[2])).to(x[2].scalar_type());
          },
          {inputs[0], inputs[1], inputs[3]});
    }
  }
}

TEST_P(AttendOfType, StandsScoresOfTenThousand) {
  const Relation relation = complete(8);
  const Tensors inputs = random_inputs(relation, 2, 4, 4, GetParam());
  const AttentionOptions options = {.scale = 1e4};
  const auto actual = output_and_gradients(
      [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], options); }, {inputs[0], inputs[1], inputs[2]});
  const auto expected =
      output_and_gradients([&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], options); },
                           {inputs[0], inputs[1], inputs[2]});

  // Each row has one weight of 1: what rounding does to scores shows nowhere.
  expect_close(actual[0], expected[0], "output");
  for (const at::Tensor& tensor : actual) EXPECT_TRUE(tensor.isfinite().all().item<bool>());
  expect_close(actual[3], expected[3], "gradient of value");
}

TEST(Attend, IsItsDefinitionOnAnyEdges) {
  EXPECT_TRUE(rc::check([] {
    const auto num_sources = *rc::gen::inRange<std::int64_t>(1, 12);
    const auto num_destinations = *rc::gen::inRange<std::int64_t>(1, 12);
    EdgeList edges;
    edges.sources = *rc::gen::container<std::vector<NodeIndex>>(
        rc::gen::inRange<NodeIndex>(0, static_cast<NodeIndex>(num_sources)));
    for (std::size_t i = 0; i < edges.sources.size(); ++i) {
      edges.destinations.push_back(*rc::gen::inRange<NodeIndex>(0, static_cast<NodeIndex>(num_destinations)));
    }
    const Relation relation = Relation::from_edges(num_sources, num_destinations, edges);
    const Tensors inputs =
        random_inputs(relation, *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 20), *rc::gen::inRange(0, 10));

    expect_same_function(
        [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_bias({}, x[3])); },
        [&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], with_bias({}, x[3])); }, inputs);
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

TEST(Attend, EqualsDenseAttentionOnACompleteGraph) {
  const at::Tensor query = normal({5, 2, 8}, 1);
  const at::Tensor key = normal({5, 2, 8}, 2);
  const at::Tensor value = normal({5, 2, 8}, 3);

  const at::Tensor actual = attend(complete(5), query, key, value);

  const at::Tensor dense =
      at::scaled_dot_product_attention(query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1));
  expect_close(actual, dense.transpose(0, 1), "output");
}

TEST(Attend, EqualsDenseCausalAttentionOnACausalGraph) {
  const at::Tensor query = normal({6, 2, 8}, 1);
  const at::Tensor key = normal({6, 2, 8}, 2);
  const at::Tensor value = normal({6, 2, 8}, 3);

  const at::Tensor actual = attend(causal(6), query, key, value);

  const at::Tensor dense =
      at::scaled_dot_product_attention(query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1),
                                       /*attn_mask=*/{}, /*dropout_p=*/0, /*is_causal=*/true);
  expect_close(actual, dense.transpose(0, 1), "output");
}

TEST(Attend, HasGradientsThatMatchFiniteDifferences) {
  for (const auto& [relation_name, relation] : relation_zoo()) {
    if (relation.num_edges() > 60) continue;
    for (const auto& [option_name, options] : option_zoo()) {
      SCOPED_TRACE(relation_name + ", " + option_name);
      expect_gradients_match([&, &r = relation, &o = options](
                                 const Tensors& x) { return attend(r, x[0], x[1], x[2], with_bias(o, x[3])); },
                             random_inputs(relation, 2, 3, 2));
      const Tensors inputs = random_inputs(relation, 2, 3, 2);
      expect_gradients_match([&, &r = relation, &o = options](
                                 const Tensors& x) { return attention_weights(r, x[0], x[1], with_bias(o, x[2])); },
                             {inputs[0], inputs[1], inputs[3]});
    }
  }
}

TEST(Attend, TakesInputsThatAreNotContiguous) {
  const Relation relation = causal(5);
  const at::Tensor projected = normal({3, 2, 7, 5}, 1);  // [query key value, head, K, node]
  auto view = [&](int which) { return projected[which].permute({2, 0, 1}).slice(2, 0, 6, 2); };
  ASSERT_FALSE(view(0).is_contiguous());

  expect_gradients_match([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2]); },
                         {view(0), view(1), view(2)});
  expect_gradients_match([&](const Tensors& x) { return attention_weights(relation, x[0], x[1]); }, {view(0), view(1)});
}

TEST(Attend, TakesAGradientThatIsNotContiguous) {
  const Relation relation = causal(5);
  const Tensors inputs = random_inputs(relation, 2, 3, 3);

  expect_gradients_match(
      [&](const Tensors& x) {
        return attend(relation, x[0], x[1], x[2]).sum(0).expand({4, 2, 3}).transpose(0, 2);
      },
      {inputs[0], inputs[1], inputs[2]});
}

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
      expect_close(sum_H, at::ones({3}, at::kDouble), "row " + std::to_string(row));
    }
  }
}

TEST(Attend, UsesTheWeightsThatAttentionWeightsGives) {
  const Relation relation = random_relation(12, 9, 5, /*seed=*/2);
  const Tensors inputs = random_inputs(relation, 2, 4, 3);

  const at::Tensor weight_EH = attention_weights(relation, inputs[0], inputs[1]);

  at::Tensor out_DHV = at::zeros({9, 2, 3}, at::kDouble);
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
  const Relation ascending = Relation::from_rows(6, {0, 4, 6}, {0, 2, 3, 5, 1, 4});
  const Relation shuffled = Relation::from_rows(6, {0, 4, 6}, {3, 0, 5, 2, 4, 1});
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
  const auto as_rows = run(relation.to_rows());

  for (std::size_t i = 0; i < as_rows.size(); ++i) EXPECT_TRUE(at::equal(as_rows[i], as_intervals[i])) << i;
}

TEST(Attend, GivesEachSentenceOfABatchTheBitsThatItHasAlone) {
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

TEST_P(AttendOfType, TakesARelationPerHead) {
  const std::vector<Relation> relation_H = {causal(12), random_relation(12, 12, 5, /*seed=*/3),
                                            window(12, {.before = 2, .after = 1}),
                                            Relation::from_intervals(12, std::vector<Interval>(12))};
  const AttentionOptions options = {.scale = 0.4, .clamp = 0.9};
  Tensors inputs = random_inputs(relation_H[0], 4, 5, 3, GetParam());
  inputs.pop_back();
  for (const auto set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(std::string(kernels::instruction_set_name(set)));
    const kernels::ForcedInstructionSet forced(set);
    expect_same_function([&](const Tensors& x) { return attend(relation_H, x[0], x[1], x[2], options); },
                         [&](const Tensors& x) {
                           const Tensors exact = in_double(x);
                           Tensors out;
                           for (int head = 0; head < 4; ++head) {
                             auto alone = [&](int which) { return exact[which].narrow(1, head, 1); };
                             out.push_back(attend_plain(relation_H[head], alone(0), alone(1), alone(2), options));
                           }
                           return at::cat(out, 1).to(x[0].scalar_type());
                         },
                         inputs);
  }
}

TEST_P(AttendOfType, DropsTheSameWeightsOfAHeadWhereHeadsHaveRelationsOfTheirOwn) {
  for (const Relation& relation : {causal(12), random_relation(12, 12, 5, /*seed=*/3)}) {
    const AttentionOptions options = {.dropout = 0.4, .dropout_key = {.seed = 5, .stream = 6}};
    Tensors inputs = random_inputs(relation, 3, 5, 3, GetParam());
    inputs.pop_back();
    const std::vector<Relation> relation_H(3, relation);

    const auto apart =
        output_and_gradients([&](const Tensors& x) { return attend(relation_H, x[0], x[1], x[2], options); }, inputs);
    const auto together =
        output_and_gradients([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], options); }, inputs);

    for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(at::equal(apart[i], together[i])) << i;
  }
}

TEST(Attend, SaysWhichWayItGoes) {
  const kernels::ForcedInstructionSet forced(kernels::runnable_instruction_sets().back());
  const std::string best(kernels::instruction_set_name(kernels::instruction_set()));
  const Relation lists = random_relation(9, 9, 4, /*seed=*/8);

  EXPECT_EQ(attention_kernel(causal(9)), "tiles, " + best);
  EXPECT_EQ(attention_kernel(lists), "rows, " + best);
  EXPECT_EQ(attention_kernel(lists, at::kBFloat16), "rows, " + best);
  EXPECT_EQ(attention_kernel(lists, at::kDouble), "reference");
  const kernels::ForcedInstructionSet reference(kernels::InstructionSet::kReference);
  EXPECT_EQ(attention_kernel(lists), "reference");
}

TEST(Attend, DropsTheShareOfWeightsAskedFor) {
  // With all weights equal and values of one, an output is the share of weights kept, times their growth.
  const Relation relation = bipartite(20'000, 1);
  const at::Tensor ones_S11 = at::ones({20'000, 1, 1});

  const at::Tensor out = attend(relation, at::zeros({1, 1, 1}), ones_S11, ones_S11,
                                {.dropout = 0.3, .dropout_key = {.seed = 1, .stream = 2}});

  EXPECT_NEAR(out.item<double>(), 1.0, 0.03);
  EXPECT_NE(out.item<double>(), 1.0);
}

TEST(Attend, DoesNotAskForGradientsOfWhatNeedsNone) {
  const Relation relation = complete(4);
  const Tensors inputs = random_inputs(relation, 1, 2, 2);
  const at::Tensor query = inputs[0].detach().requires_grad_();

  attend(relation, query, inputs[1], inputs[2], with_bias({}, inputs[3])).sum().backward();

  EXPECT_TRUE(query.grad().defined());
  EXPECT_FALSE(attend(relation, inputs[0], inputs[1], inputs[2]).requires_grad());
}

TEST(Attend, KeepsTheRelationUntilBackward) {
  const Tensors inputs = random_inputs(causal(5), 1, 3, 3);
  const at::Tensor query = inputs[0].detach().requires_grad_();
  at::Tensor out;
  {
    const Relation relation = causal(5).to_rows();
    out = attend(relation, query, inputs[1], inputs[2]);
  }

  out.sum().backward();

  EXPECT_TRUE(query.grad().isfinite().all().item<bool>());
}

TEST(Attend, TakesMemoryOfTheNodesNotOfTheEdges) {
  constexpr std::int64_t kNodes = 2000;
  const Relation relation = complete(kNodes);
  const Tensors inputs = random_inputs(relation, 1, 2, 2, at::kFloat);
  const std::int64_t bytes_of_all_weights = relation.num_edges() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t bytes_of_all_inputs = 3 * inputs[0].numel() * static_cast<std::int64_t>(sizeof(float));

  const std::int64_t peak = peak_allocation([&] {
    const at::Tensor query = inputs[0].detach().requires_grad_();
    attend(relation, query, inputs[1], inputs[2], {.dropout = 0.1}).sum().backward();
  });

  EXPECT_GT(peak, bytes_of_all_inputs);  // or else the counter does not count
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
