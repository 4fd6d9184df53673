// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_products.h"

#include <gtest/gtest.h>

#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/near.h"
#include "tests/kernels/not_written.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kSize = 7;

template <typename T>
std::vector<T> normal(std::int64_t count, std::uint64_t stream) {
  RandomStream random(/*seed=*/2, stream);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(random.normal());
  return values;
}

// Calls fn for each edge and head, with the indices of edge, destination and source in [E, H], [D, H] and [S, H].
template <class Fn>
void for_all(const Relation& relation, Fn fn) {
  const EdgeList edges = relation.edges();
  for (std::int64_t edge = 0; edge < relation.num_edges(); ++edge) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      fn(edge * kHeads + head, edges.destinations[edge] * kHeads + head, edges.sources[edge] * kHeads + head);
    }
  }
}

template <typename T>
class EdgeProducts : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(EdgeProducts, ElementTypes);

TYPED_TEST(EdgeProducts, ProductsAndSumsMatchTheirDefinitions) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    SCOPED_TRACE(name);
    const EdgeOrders lists(relation.view());
    const EdgeShape shape = {lists, kHeads, kSize};
    const auto destination = normal<TypeParam>(relation.num_destinations() * kHeads * kSize, 1);
    const auto source = normal<TypeParam>(relation.num_sources() * kHeads * kSize, 2);
    const auto weight = normal<TypeParam>(relation.num_edges() * kHeads, 3);
    std::vector<double> product(weight.size()), at_destinations(destination.size()), at_sources(source.size());
    for_all(relation, [&](std::int64_t e, std::int64_t d, std::int64_t s) {
      for (std::int64_t k = 0; k < kSize; ++k) {
        product[e] += static_cast<double>(destination[d * kSize + k]) * source[s * kSize + k];
        at_destinations[d * kSize + k] += static_cast<double>(weight[e]) * source[s * kSize + k];
        at_sources[s * kSize + k] += static_cast<double>(weight[e]) * destination[d * kSize + k];
      }
    });

    auto actual_product = not_written<TypeParam>(product.size());
    auto sum_d = not_written<TypeParam>(destination.size()), sum_s = not_written<TypeParam>(source.size());
    edge_dot(shape, destination.data(), source.data(), actual_product.data());
    sum_at_destinations(shape, weight.data(), source.data(), sum_d.data());
    sum_at_sources(shape, weight.data(), destination.data(), sum_s.data());

    expect_near(actual_product, product, "products");
    expect_near(sum_d, at_destinations, "sums at destinations");
    expect_near(sum_s, at_sources, "sums at sources");
  }
}

TYPED_TEST(EdgeProducts, SumsHaveTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const std::vector<Relation> sentences = {complete(30), causal(50), complete(20)};
  const Relation relation = join(sentences);
  const EdgeOrders lists(relation.view());
  const EdgeShape shape = {lists, kHeads, kSize};
  const auto destination = normal<TypeParam>(relation.num_destinations() * kHeads * kSize, 1);
  const auto weight = normal<TypeParam>(relation.num_edges() * kHeads, 3);
  auto sums = [&](int threads) {
    set_num_threads(threads);
    auto sum = not_written<TypeParam>(relation.num_sources() * kHeads * kSize);
    sum_at_sources(shape, weight.data(), destination.data(), sum.data());
    return sum;
  };

  const std::vector<TypeParam> expected = sums(1);

  for (const int threads : {2, 3, 5}) EXPECT_EQ(sums(threads), expected);
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise::kernels
