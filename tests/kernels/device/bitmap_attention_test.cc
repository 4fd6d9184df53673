// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/bitmap_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/tile_attention.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/device/attention_on_device.h"
#include "tests/kernels/device/attention_results.h"
#include "tests/kernels/device/schedules.h"
#include "tests/support/device_buffer.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

/// BitmapTiles in memory of the device.
class TilesOnDevice {
 public:
  explicit TilesOnDevice(const BitmapTiles& tiles) : blocks_(tiles.blocks), others_(tiles.others), rows_(tiles.rows) {}

  BitmapTilesView view() const { return {blocks_.data(), others_.data(), rows_.data()}; }

 private:
  device::Buffer<BitmapBlock> blocks_;
  device::Buffer<NodeIndex> others_;
  device::Buffer<BitmapRow> rows_;
};

// Runs both passes, for one head or for all.
template <typename T>
AttentionResult<T> run(const AttentionProblem<T>& problem, std::optional<std::int64_t> only_head = {}) {
  const RelationView relation = problem.relation().view();
  const TilesOnDevice by_destination(tile_by_destination(relation));
  const TilesOnDevice by_source(tile_by_source(relation));
  const BitmapRelationView view = {relation.num_sources, relation.num_destinations, by_destination.view(),
                                   by_source.view()};
  return run_on_device(
      problem, relation,
      [&](AttentionForward<T> p, const RelationView& /*on_device*/) {
        p.only_head = only_head;
        bitmap_attention_forward(p, view, device::Stream());
      },
      [&](AttentionBackward<T> p, const RelationView& /*on_device*/) {
        p.forward.only_head = only_head;
        device::Buffer<char> workspace(
            static_cast<std::size_t>(bitmap_backward_workspace(relation.num_destinations, p.forward.heads().size())));
        bitmap_attention_backward(p, view, workspace.data(), device::Stream());
      });
}

// Compares with the reference in double, whose gradients are computed from the output and log normalizer of `actual`.
// In bf16, weights and gradients of scores are rounded before they multiply: a weight has a relative error of up to
// 2^-9, a value after dropout is at most 5, and the largest terms of a gradient are 16 times the root mean square of
// the gradients. In fp32, the exponent of a weight, of up to 16, has an error of some 2^-22.
template <typename T>
void expect_near_reference(const AttentionResult<T>& actual, const AttentionProblem<T>& problem) {
  constexpr bool kIsBf16 = std::is_same_v<T, BFloat16>;
  const RelationView relation = problem.relation().view();
  const AttentionResult<double> expected = AttentionProblem<double>(problem).run_with(
      [&](const AttentionForward<double>& p) { reference::attention_forward(p, relation); },
      [&](AttentionBackward<double> p) {
        std::vector<double> out(actual.out.begin(), actual.out.end());
        std::vector<double> log_normalizer(actual.log_normalizer.begin(), actual.log_normalizer.end());
        p.forward.out = out.data();
        p.forward.log_normalizer = log_normalizer.data();
        reference::attention_backward(p, relation);
      });
  expect_near(actual.out, expected.out, "out", with_sums<T>(kIsBf16 ? 5 * 0x1p-9 : kTolerance<T>.sums));
  expect_near(actual.log_normalizer, expected.log_normalizer, "log_normalizer");
  const Tolerance gradients = kIsBf16 ? Tolerance{2 * 0x1p-8, 16 * 0x1p-9} : with_sums<T>(2 * kTolerance<T>.sums);
  expect_near(actual.grad_query, expected.grad_query, "grad_query", gradients);
  expect_near(actual.grad_key, expected.grad_key, "grad_key", gradients);
  expect_near(actual.grad_value, expected.grad_value, "grad_value", gradients);
  expect_near(actual.grad_edge_bias, expected.grad_edge_bias, "grad_edge_bias");
}

// `num_sources` and `num_destinations` nodes, of which `percent` of all pairs have an edge.
Relation random_edges(std::int64_t num_sources, std::int64_t num_destinations, std::uint64_t percent) {
  RandomStream random(7);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(num_sources * num_destinations));
  for (std::uint8_t& has_edge : mask) has_edge = random.next_below(100) < percent ? 1 : 0;
  return from_mask(num_sources, num_destinations, mask);
}

// A window around each node; all nodes attend to the first `num_global` nodes, and these to all nodes.
Relation window_with_global_nodes(std::int64_t num_nodes, std::int64_t reach, std::int64_t num_global) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(num_nodes * num_nodes));
  for (std::int64_t row = 0; row < num_nodes; ++row) {
    for (std::int64_t source = 0; source < num_nodes; ++source) {
      const bool has_edge = std::abs(row - source) <= reach || row < num_global || source < num_global;
      mask[static_cast<std::size_t>(row * num_nodes + source)] = has_edge ? 1 : 0;
    }
  }
  return from_mask(num_nodes, num_nodes, mask);
}

template <typename T>
class BitmapAttention : public testing::Test {};
using DeviceTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(BitmapAttention, DeviceTypes);

TYPED_TEST(BitmapAttention, MatchesTheReferenceOnEveryRelationWhoseRowsAscend) {
  int count = 0;
  for (const auto& [name, relation] : relation_zoo()) {
    if (!rows_ascend(relation.view())) continue;
    ++count;
    for (const AttentionCase& options : attention_cases()) {
      if (options.name == "bias" || options.name == "clamp") continue;  // "all" has both, and the emulator is slow
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<TypeParam> problem(relation, {2, 32, 32}, options);

      expect_near_reference(run(problem), problem);
    }
  }
  EXPECT_GE(count, 25);
}

TYPED_TEST(BitmapAttention, MatchesTheReferenceOverManyTiles) {
  const AttentionCase all = attention_cases().back();
  const std::vector<Relation> relations = {
      random_edges(150, 130, 30), random_edges(131, 70, 2), random_edges(200, 65, 97),
      random_edges(1, 129, 50),   random_edges(129, 1, 50), window_with_global_nodes(140, 3, 2),
      strided(133, 17),           block_local(129, 33),
  };
  for (const Relation& relation : relations) {
    SCOPED_TRACE(std::to_string(relation.num_sources()) + " x " + std::to_string(relation.num_destinations()));
    const AttentionProblem<TypeParam> problem(relation, {1, 32, 32}, all);

    expect_near_reference(run(problem), problem);
  }
}

TYPED_TEST(BitmapAttention, GivesTheSameBitsInEverySchedule) {
  const Relation relation = random_edges(99, 75, 40);
  for (const std::int64_t size : {32, 64, 96, 128}) {
    SCOPED_TRACE("head size " + std::to_string(size));
    const AttentionProblem<TypeParam> problem(relation, {1, size, size},
                                              {.name = "", .has_bias = true, .dropout = 0.3, .scale = 0.2});
    const AttentionResult<TypeParam> expected = run(problem);
    expect_near_reference(expected, problem);

    gpu::for_each_schedule([&] { expect_same_bits(run(problem), expected); });
  }
}

TYPED_TEST(BitmapAttention, GivesZerosToRowsWithoutEdgesOrFiniteScores) {
  const auto problem = problem_without_edges_or_finite_scores<TypeParam>();

  const AttentionResult<TypeParam> result = run(problem);

  expect_zeros_without_edges_or_finite_scores(result);
  expect_near_reference(result, problem);
}

TYPED_TEST(BitmapAttention, ComputesOneHeadAndLeavesTheOthers) {
  const Relation relation = random_edges(70, 67, 30);
  const AttentionProblem<TypeParam> problem(relation, {3, 64, 64}, {.name = "", .has_bias = true, .dropout = 0.2});
  const AttentionResult<TypeParam> expected = run(problem);

  const AttentionResult<TypeParam> actual = run(problem, /*only_head=*/1);

  expect_second_head_alone(actual, expected, 64);
}

struct FoundEdge {
  std::int64_t row;
  NodeIndex source;
  EdgeIndex edge;

  friend bool operator==(const FoundEdge&, const FoundEdge&) = default;
  friend auto operator<=>(const FoundEdge&, const FoundEdge&) = default;
};

std::vector<FoundEdge> edges_of(const RelationView& relation) {
  std::vector<FoundEdge> edges;
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
      edges.push_back({row, relation.source(row, edge), edge});
    }
  }
  return edges;
}

// Calls fn(bit, edge) for each edge of a bitmap.
template <class Fn>
void for_bits(const BitmapRow& row, Fn fn) {
  EdgeIndex edge = row.first_edge;
  for (int bit = 0; bit < kNodesOfBitmapBlock; ++bit) {
    if ((row.sources >> bit & 1) != 0) fn(bit, edge++);
  }
}

TEST(BitmapTiles, HoldEachEdgeOnce) {
  for (const auto& [name, relation] : relation_zoo()) {
    if (!rows_ascend(relation.view())) continue;
    SCOPED_TRACE(name);
    const std::vector<FoundEdge> expected = edges_of(relation.view());

    std::vector<FoundEdge> by_destination;
    const BitmapTiles of_rows = tile_by_destination(relation.view());
    for (const BitmapBlock& block : of_rows.blocks) {
      for (std::int64_t i = block.begin; i < block.begin + (block.num_others + 63) / 64 * 64; ++i) {
        const std::int64_t row = block.first_node + (i - block.begin) % 64;
        for_bits(of_rows.rows[i], [&](int bit, EdgeIndex edge) {
          by_destination.push_back({row, of_rows.others[i - (i - block.begin) % 64 + bit], edge});
        });
      }
    }
    std::ranges::sort(by_destination);
    EXPECT_TRUE(by_destination == expected);

    std::vector<FoundEdge> by_source;
    const BitmapTiles of_sources = tile_by_source(relation.view());
    for (const BitmapBlock& block : of_sources.blocks) {
      for (std::int64_t i = block.begin; i < block.begin + block.num_others; ++i) {
        for_bits(of_sources.rows[i], [&](int bit, EdgeIndex edge) {
          by_source.push_back({of_sources.others[i], block.first_node + bit, edge});
        });
      }
    }
    std::ranges::sort(by_source);
    EXPECT_TRUE(by_source == expected);
  }
}

TEST(BitmapTiles, BeginWithTheBlocksThatHaveTheMostTiles) {
  const Relation relation =
      Relation::from_edges(300, 130, {.sources = {0, 299, 7, 8, 9, 1}, .destinations = {0, 1, 70, 70, 70, 129}});

  const BitmapTiles tiles = tile_by_destination(relation.view());

  ASSERT_EQ(tiles.blocks.size(), 3u);
  EXPECT_EQ(tiles.blocks[0].first_node, 64);
  EXPECT_EQ(tiles.blocks[0].num_others, 3);
  EXPECT_EQ(tiles.blocks[1].first_node, 0);
  EXPECT_EQ(tiles.blocks[2].first_node, 128);
  EXPECT_EQ(tiles.num_tiles(), 3);
}

TEST(BitmapTiles, RefuseRowsWhoseSourcesDoNotAscend) {
  const Relation relation = Relation::from_csr(4, {0, 2}, {1, 1});
  for (auto* const tile : {tile_by_destination, tile_by_source}) {
    try {
      tile(relation.view());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), std::string(tile == tile_by_source ? "tile_by_source" : "tile_by_destination") +
                                  ": relation has a row whose sources do not ascend, needs rows that do");
    }
  }
}

TEST(BitmapTiles, AreDenseWhereTheyAreFasterThanSingleEdges) {
  EXPECT_TRUE(has_dense_tiles<BFloat16>(1280, 10));
  EXPECT_FALSE(has_dense_tiles<BFloat16>(1279, 10));
  EXPECT_TRUE(has_dense_tiles<float>(3840, 10));
  EXPECT_FALSE(has_dense_tiles<float>(3839, 10));
}

}  // namespace
}  // namespace edgewise::kernels
