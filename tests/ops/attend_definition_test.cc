// SPDX-License-Identifier: Apache-2.0
// Compares attend and attention_weights with their definitions in plain ATen, dense attention and finite differences.
#include <rapidcheck/gtest.h>

#include "edgewise/graph/relation_ops.h"
#include "tests/ops/attend_comparison.h"
#include "tests/support/failures_of.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

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

class AttendOfType : public testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, AttendOfType, testing::Values(at::kFloat, at::kBFloat16, at::kDouble),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

TEST_P(AttendOfType, MatchesItsDefinitionInOutputAndGradients) {
  for (const auto& [relation_name, relation] : tests_gpu_kernels() ? relation_zoo() : large_relation_zoo()) {
    for (const auto& [option_name, options] : option_zoo()) {
      const bool is_part_of_all = option_name == "scale" || option_name == "clamp";
      // The emulator is slow, and so is a definition with thousands of sources.
      if (is_part_of_all && (tests_gpu_kernels() || relation.num_sources() > 1000)) continue;
      for (const Relation& form : {relation, relation.to_csr()}) {
        SCOPED_TRACE(relation_name + ", " + option_name);
        const auto [head_size, value_size] = small_heads();
        expect_matches_definition(form, options, random_inputs(form, 2, head_size, value_size, GetParam()));
      }
    }
  }
}

TEST_P(AttendOfType, MatchesItsDefinitionForEveryHeadSize) {
  for (const Relation& relation : {window(9, {.before = 2, .after = 3}), random_relation(9, 9, 4, /*seed=*/8)}) {
    for (const std::int64_t head_size : {1, 2, 7, 8, 9, 16, 32, 33, 64, 96, 128, 257}) {
      for (const std::int64_t heads : {1, 3}) {
        SCOPED_TRACE("heads " + std::to_string(heads) + ", head size " + std::to_string(head_size));
        Tensors inputs = random_inputs(relation, heads, head_size, head_size, GetParam());
        inputs.pop_back();
        expect_matches_definition(relation, {}, inputs);
      }
    }
  }
}

TEST_P(AttendOfType, MatchesItsDefinitionWithFewerHeadsOfKeysAndValues) {
  for (const auto& [relation_name, relation] : tests_gpu_kernels() ? relation_zoo() : large_relation_zoo()) {
    if (relation.num_sources() > 1000) continue;
    for (const auto& [option_name, options] : option_zoo()) {
      for (const std::int64_t key_heads : {1, 2}) {
        for (const Relation& form : {relation, relation.to_csr()}) {
          SCOPED_TRACE(relation_name + ", " + option_name + ", " + std::to_string(key_heads) + " heads of keys");
          const std::int64_t head_size = key_heads == 1 ? 16 : 5;  // 16 and 16: kernels write gradients directly
          const std::int64_t value_size = key_heads == 1 ? 16 : 3;
          expect_matches_definition(form, options,
                                    random_inputs(form, 4, head_size, value_size, GetParam(), key_heads));
        }
      }
    }
  }
}

TEST_P(AttendOfType, MatchesItsDefinitionWithFewerHeadsOfKeysAndAScoreFunction) {
  const at::Tensor slope_H = normal({4}, 8).abs();
  AttentionOptions options;
  options.score = Score::product() - Score::of_heads(slope_H) * abs(Score::distance());
  for (const Relation& relation : {causal(70), random_relation(30, 40, 4, /*seed=*/8)}) {
    for (const std::int64_t key_heads : {1, 2}) {
      Tensors inputs = random_inputs(relation, 4, 6, 5, GetParam(), key_heads);
      inputs.pop_back();
      expect_matches_definition(relation, options, inputs);
    }
  }
}

TEST(Attend, ReadsEachHeadOfKeysForAsManyHeadsOfQueries) {
  const Relation relation = causal(9);
  const Tensors x = random_inputs(relation, 6, 4, 3, at::kDouble, /*key_heads=*/2);
  const at::Tensor actual = attend(relation, x[0], x[1], x[2]);
  for (std::int64_t head = 0; head < 6; ++head) {
    const at::Tensor expected =
        attend(relation, x[0].narrow(1, head, 1), x[1].narrow(1, head / 3, 1), x[2].narrow(1, head / 3, 1));
    expect_close(actual.narrow(1, head, 1), expected, "head " + std::to_string(head));
  }
}

TEST(Attend, HasGradientsWithFewerHeadsOfKeysThatMatchFiniteDifferences) {
  const Relation relation = window(6, {.before = 2, .after = 1});
  Tensors inputs = random_inputs(relation, 4, 3, 2, at::kDouble, /*key_heads=*/2);
  inputs.pop_back();
  expect_gradients_match([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2]); }, inputs);
}

TEST_P(AttendOfType, WeightsWithFewerHeadsOfKeysMatchTheirDefinition) {
  for (const auto& [relation_name, relation] : relation_zoo()) {
    SCOPED_TRACE(relation_name);
    const Tensors inputs = random_inputs(relation, 4, 5, 3, GetParam(), /*key_heads=*/2);
    const at::Tensor actual = attention_weights(relation, inputs[0], inputs[1]);
    const at::Tensor expected = attention_weights_plain(relation, inputs[0].to(at::kDouble), inputs[1].to(at::kDouble));
    expect_close(actual.to(at::kDouble), expected, "weights", tolerance(at::kFloat));
  }
}

TEST_P(AttendOfType, WeightsMatchTheirDefinitionInOutputAndGradients) {
  for (const auto& [relation_name, relation] : relation_zoo()) {
    for (const auto& [option_name, options] : option_zoo()) {
      SCOPED_TRACE(relation_name + ", " + option_name);
      const Tensors inputs = random_inputs(relation, 2, 5, 3, GetParam());
      expect_same_function(
          [&, &r = relation, &o = options](const Tensors& x) {
            return attention_weights(r, x[0], x[1], with_bias(o, x[2]));
          },
          [&, &r = relation, &o = options](const Tensors& x) {
            const Tensors exact = convert(x, at::kDouble);
            return attention_weights_plain(r, exact[0], exact[1], with_bias(o, exact[2])).to(x[2].scalar_type());
          },
          {inputs[0], inputs[1], inputs[3]});
    }
  }
}

TEST_P(AttendOfType, IsNotFiniteExactlyWhereItsDefinitionIsNot) {
  if (tests_gpu_kernels()) GTEST_SKIP() << "kernels for GPUs multiply whole tiles";
  for (const Relation& relation : {causal(8), window(70, {.before = 3, .after = 1}), complete(5).to_csr()}) {
    for (std::size_t wrong = 0; wrong < 3; ++wrong) {
      for (const double number : {std::numeric_limits<double>::infinity(), std::nan("")}) {
        SCOPED_TRACE(result_name(wrong + 1));
        Tensors inputs = random_inputs(relation, 2, 16, 16, GetParam());
        inputs.pop_back();
        inputs[wrong][-1][1][0] = number;
        const Tensors expected =
            output_and_gradients([&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2]); }, inputs);
        for_each_instruction_set([&] {
          const Tensors actual =
              output_and_gradients([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2]); }, inputs);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_TRUE(at::equal(actual[i].isfinite(), expected[i].isfinite())) << result_name(i);
          }
        });
      }
    }
  }
}

TEST_P(AttendOfType, DoesNotOverflowOnScoresOfTenThousand) {
  const Relation relation = complete(8);
  const Tensors inputs = random_inputs(relation, 2, 4, 4, GetParam());
  const AttentionOptions options = {.scale = 1e4};
  const auto actual = output_and_gradients(
      [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], options); }, {inputs[0], inputs[1], inputs[2]});
  const auto expected =
      output_and_gradients([&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], options); },
                           {inputs[0], inputs[1], inputs[2]});

  // Each row has one weight of 1 and zeros, so that rounding errors of scores do not affect the output.
  expect_close(actual[0], expected[0], "output");
  for (const at::Tensor& tensor : actual) EXPECT_TRUE(tensor.isfinite().all().item<bool>());
  expect_close(actual[3], expected[3], "gradient of value");
}

/// Draws a relation of either form, with empty rows, equal edges and rows in no order.
Relation arbitrary_relation() {
  const auto num_sources = *rc::gen::inRange<std::int64_t>(1, 80);
  const auto num_destinations = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto source = rc::gen::inRange<NodeIndex>(0, static_cast<NodeIndex>(num_sources));
  if (*rc::gen::arbitrary<bool>()) {
    std::vector<Interval> rows;
    for (std::int64_t row = 0; row < num_destinations; ++row) {
      const auto [a, b] = *rc::gen::pair(source, source);
      rows.push_back(a <= b ? Interval{a, b + 1} : Interval{a, a});
    }
    return Relation::from_intervals(num_sources, rows);
  }
  EdgeList edges;
  edges.sources = *rc::gen::container<std::vector<NodeIndex>>(*rc::gen::inRange<std::size_t>(0, 900), source);
  edges.destinations = *rc::gen::container<std::vector<NodeIndex>>(
      edges.sources.size(), rc::gen::inRange<NodeIndex>(0, static_cast<NodeIndex>(num_destinations)));
  return Relation::from_edges(num_sources, num_destinations, edges);
}

AttentionOptions arbitrary_attention_options() {
  AttentionOptions options;
  if (*rc::gen::arbitrary<bool>()) options.scale = *rc::gen::element(0.0, 0.3, -1.0);
  if (*rc::gen::arbitrary<bool>()) options.clamp = *rc::gen::element(0.4, 2.0);
  options.dropout = *rc::gen::element(0.0, 0.0, 0.3, 0.9);
  options.dropout_key = {.seed = *rc::gen::arbitrary<std::uint64_t>(), .stream = *rc::gen::arbitrary<std::uint64_t>()};
  return options;
}

RC_GTEST_PROP(Attend, MatchesItsDefinitionOnAnyRelation, ()) {
  const Relation relation = arbitrary_relation();
  AttentionOptions options = arbitrary_attention_options();
  const auto type = *rc::gen::element(at::kFloat, at::kFloat, at::kBFloat16, at::kDouble);
  const auto heads = *rc::gen::inRange<std::int64_t>(1, 5);
  const std::int64_t divisor = tests_gpu_kernels() ? 8 : 1;  // kernels for GPUs have no other sizes
  const auto value_size = *rc::gen::inRange<std::int64_t>(1, 70 / divisor) * divisor;
  const auto head_size = *rc::gen::element(value_size, *rc::gen::inRange<std::int64_t>(1, 70 / divisor) * divisor);
  Tensors inputs = random_inputs(relation, heads, head_size, value_size, type);
  if (*rc::gen::arbitrary<bool>()) inputs.pop_back();
  if (options.clamp) options.clamp = clamp_between_scores(relation, options, inputs);

  const std::string failures = failures_of([&] { expect_matches_definition(relation, options, inputs); });

  if (!failures.empty()) RC_FAIL(failures);
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

TEST_P(AttendOfType, TakesARelationPerHead) {
  const std::vector<Relation> relation_H = {causal(12), random_relation(12, 12, 5, /*seed=*/3),
                                            window(12, {.before = 2, .after = 1}),
                                            Relation::from_intervals(12, std::vector<Interval>(12))};
  const AttentionOptions options = {.scale = 0.4, .clamp = 0.9};
  const auto [head_size, value_size] = small_heads();
  Tensors inputs = random_inputs(relation_H[0], 4, head_size, value_size, GetParam());
  inputs.pop_back();

  expect_matches([&](const Tensors& x) { return attend(relation_H, x[0], x[1], x[2], options); },
                 [&](const Tensors& x) {
                   Tensors out;
                   for (int head = 0; head < 4; ++head) {
                     auto alone = [&](int which) { return x[which].narrow(1, head, 1); };
                     out.push_back(attend_plain(relation_H[head], alone(0), alone(1), alone(2), options));
                   }
                   return at::cat(out, 1);
                 },
                 inputs, rounding_errors(complete(12), options, inputs));
}

TEST_P(AttendOfType, DropsTheSameWeightsWithOneRelationPerHeadAsWithOneForAll) {
  for (const Relation& relation : {causal(12), random_relation(12, 12, 5, /*seed=*/3)}) {
    const AttentionOptions options = {.dropout = 0.4, .dropout_key = {.seed = 5, .stream = 6}};
    const auto [head_size, value_size] = small_heads();
    Tensors inputs = random_inputs(relation, 3, head_size, value_size, GetParam());
    inputs.pop_back();
    const std::vector<Relation> relation_H(3, relation);

    const auto apart =
        output_and_gradients([&](const Tensors& x) { return attend(relation_H, x[0], x[1], x[2], options); }, inputs);
    const auto together =
        output_and_gradients([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], options); }, inputs);

    for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(at::equal(apart[i], together[i])) << i;
  }
}

}  // namespace
}  // namespace edgewise
