// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

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
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const std::int64_t heads : {1, 3, 8, 16, 20, 33}) {
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

}  // namespace
}  // namespace edgewise::kernels
