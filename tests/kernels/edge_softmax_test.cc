// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/near.h"
#include "tests/kernels/not_written.h"
#include "tests/kernels/random_numbers.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

template <typename T>
class EdgeSoftmaxKernel : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(EdgeSoftmaxKernel, ElementTypes);

TYPED_TEST(EdgeSoftmaxKernel, MatchesItsDefinitionWithItsGradient) {
  std::vector<NamedRelation> relations = large_relation_zoo();
  relations.push_back({"a row that threads share", join(std::vector<Relation>{bipartite(5, 2), bipartite(65'540, 1)})});
  for (const auto& [name, relation] : relations) {
    for (const std::int64_t heads : {1, 2, 3, 4, 8, 16, 20, 33}) {
      if (relation.num_edges() > 65'536 && heads > 3) continue;
      SCOPED_TRACE(name + ", heads " + std::to_string(heads));
      const auto score = normal_numbers<TypeParam>(relation.num_edges() * heads, 1);
      const auto gradient = normal_numbers<TypeParam>(relation.num_edges() * heads, 2);
      const auto rows = static_cast<std::size_t>(relation.num_destinations() * heads);
      std::vector<double> total(rows), mean_gradient(rows), weight(score.size()), grad_score(score.size());
      const EdgeList ends = relation.edges();
      auto for_all = [&](auto fn) {
        for (std::size_t i = 0; i < score.size(); ++i) fn(i, ends.destinations[i / heads] * heads + i % heads);
      };
      for_all([&](std::size_t e, std::size_t d) { total[d] += std::exp(static_cast<double>(score[e])); });
      for_all([&](std::size_t e, std::size_t d) {
        weight[e] = std::exp(static_cast<double>(score[e])) / total[d];
        mean_gradient[d] += weight[e] * gradient[e];
      });
      for_all([&](std::size_t e, std::size_t d) { grad_score[e] = weight[e] * (gradient[e] - mean_gradient[d]); });
      for_implementations([&] {
        auto actual = not_written<TypeParam>(score.size());
        auto actual_gradient = actual;
        edge_softmax(relation.view(), heads, score.data(), actual.data());
        edge_softmax_backward(relation.view(), heads, actual.data(), gradient.data(), actual_gradient.data());
        expect_near(actual, weight, "weights");
        expect_near(actual_gradient, grad_score, "gradients");
      });
    }
  }
}

TYPED_TEST(EdgeSoftmaxKernel, GivesZerosForScoresOfMinusInfinity) {
  constexpr auto kMinusInfinity = -std::numeric_limits<TypeParam>::infinity();
  const Relation relation = bipartite(3, 2);
  const std::vector<TypeParam> score = {kMinusInfinity, 0, kMinusInfinity, kMinusInfinity, kMinusInfinity,
                                        kMinusInfinity};
  for_implementations([&] {
    auto weight = not_written<TypeParam>(6);
    edge_softmax(relation.view(), 1, score.data(), weight.data());
    EXPECT_EQ(weight, (std::vector<TypeParam>{0, 1, 0, 0, 0, 0}));
  });
}

TYPED_TEST(EdgeSoftmaxKernel, HasTheSameBitsForAnyNumberOfThreads) {
  constexpr std::int64_t kHeads = 3;
  const Relation relation = bipartite(70'000, 1);
  auto score = normal_numbers<TypeParam>(relation.num_edges() * kHeads, 1);
  std::fill_n(score.begin(), 10'000 * kHeads, -std::numeric_limits<TypeParam>::infinity());
  const auto gradient = normal_numbers<TypeParam>(relation.num_edges() * kHeads, 2);
  for_implementations([&] {
    const auto compute = [&](int num_threads) {
      const NumThreadsScope threads(num_threads);
      auto weight = not_written<TypeParam>(score.size());
      auto grad_score = weight;
      edge_softmax(relation.view(), kHeads, score.data(), weight.data());
      edge_softmax_backward(relation.view(), kHeads, weight.data(), gradient.data(), grad_score.data());
      weight.insert(weight.end(), grad_score.begin(), grad_score.end());
      return weight;
    };
    const auto alone = compute(1);
    EXPECT_EQ(alone[0], 0);
    EXPECT_EQ(compute(2), alone);
    EXPECT_EQ(compute(5), alone);
  });
}

}  // namespace
}  // namespace edgewise::kernels
