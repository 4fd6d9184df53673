// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/graph/graph_pool.h"
#include "edgewise/message/message_graph.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {

inline at::Tensor numbers(std::initializer_list<std::int64_t> values) {
  return at::tensor(std::vector<std::int64_t>(values), at::kLong);
}

inline at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Every relation of the zoo between two sets, and batches of sentences, whose decoder nodes hear from two relations.
inline std::vector<NamedGraph> graph_zoo() {
  std::vector<NamedGraph> zoo;
  for (const NamedRelation& named : relation_zoo()) {
    const Relation& relation = named.relation;
    zoo.push_back({named.name, Graph({{"from", relation.num_sources()}, {"to", relation.num_destinations()}},
                                     {{"edges", "from", "to", relation}})});
  }
  GraphPool pool;
  const std::vector<PairLengths> lengths = {{3, 4}, {1, 2}, {5, 1}, {2, 6}};
  zoo.push_back({"sentence pairs", pool.batch(lengths)});
  const std::vector<std::int64_t> inputs = {4, 1, 3};
  zoo.push_back({"sentences to translate", pool.inputs(inputs)});
  return zoo;
}

/// About half of the edges, ascending: those whose number a cheap hash picks.
inline at::Tensor half_of(std::int64_t count) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    if ((i * 2654435761u >> 7) % 2 == 0) chosen.push_back(i);
  }
  return at::tensor(chosen, at::kLong);
}

/// Runs `action` and returns the text of the Error that it throws.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec());
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::equal(actual, expected)) << "actual\n" << actual << "\nexpected\n" << expected;
}

inline void expect_near(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec());
  if (actual.numel() == 0) return;
  EXPECT_LE((actual - expected).abs().max().item<double>(), tolerance);
}

}  // namespace edgewise
