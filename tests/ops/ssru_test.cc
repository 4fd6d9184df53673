// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/ssru.h"

#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_terms.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

/// Returns the paths of texts of these lengths, with the nodes themselves as sources.
Relation paths(const std::vector<std::int64_t>& lengths) {
  const RelationTerms terms = {{.kind = TermKind::kWindow, .size = 2}};
  return make_relation(terms, Direction::kCausal, lengths);
}

TEST(SsruOperation, KeepsTheShareOfTheStateThatTheGateSays) {
  const at::Tensor forget = normal({6, 3}, 1);
  const at::Tensor input = normal({6, 3}, 2);

  const at::Tensor result = ssru(paths({2, 4}), forget, input);

  at::Tensor cell;
  for (std::int64_t n = 0; n < 6; ++n) {
    const at::Tensor f = 1 / (1 + (-forget[n]).exp());
    cell = n == 0 || n == 2 ? (1 - f) * input[n] : f * cell + (1 - f) * input[n];
    expect_close(result[n], at::relu(cell), "result");
  }
}

TEST(SsruOperation, MatchesItsDefinitionForEveryFormOfRelationTypeAndInstructionSet) {
  const Relation relations[] = {paths({}),
                                paths({1}),
                                paths({7}),
                                paths({1, 3, 0, 2, 1}),
                                paths({2, 5}).to_csr(),
                                Relation::from_csr(3, {0, 0, 1, 2}, {0, 1})};  // without the nodes themselves
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const std::int64_t size : {1, 8, 17, 70}) {
        for (const Relation& path : relations) {
          const std::int64_t nodes = path.num_destinations();
          const Tensors x = {normal({size, nodes}, 1, type).t(), normal({nodes, size}, 2, type)};
          const auto actual = output_and_gradients([&](const Tensors& t) { return ssru(path, t[0], t[1]); }, x);
          const auto expected = output_and_gradients([&](const Tensors& t) { return ssru_plain(path, t[0], t[1]); }, x);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            expect_close(actual[i].to(at::kDouble), expected[i].to(at::kDouble), result_name(i),
                         type == at::kBFloat16 ? 0x1p-6 : tolerance(type));
          }
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(SsruOperation, HasGradientsThatMatchFiniteDifferences) {
  expect_gradients_match(
      [](const Tensors& x) {
        return ssru(paths({3, 1, 4}), x[0], x[1]);
      },
      {normal({8, 3}, 1), normal({8, 3}, 2)});
}

TEST(SsruOperation, NeedsPathsAndOneRowForEachNode) {
  const at::Tensor x = normal({3, 2}, 1);
  EXPECT_EQ(error_of([&] { ssru(causal(3), x, x); }), "ssru: node 2 has source 0, needs itself and the node before it");
  EXPECT_EQ(error_of([&] { ssru(paths({3}), x, normal({2, 2}, 1)); }), "ssru: input is [2, 2], needs [3, 2] as forget");
  EXPECT_EQ(error_of([&] {
              ssru(Relation::from_csr(2, {0, 1, 2, 2}, {0, 1}), x, x);
            }),
            "ssru: path has 2 sources, needs as many as destinations, 3");
  EXPECT_EQ(error_of([&] { ssru(paths({4}), x, x); }),
            "ssru: forget has 3 rows, but the relation has 4 destinations, needs one row per destination");
  EXPECT_EQ(error_of([&] { ssru(paths({3}), x, x.to(at::kFloat)); }),
            "ssru: input has type Float but forget has type Double, needs the same type");
}

}  // namespace
}  // namespace edgewise
