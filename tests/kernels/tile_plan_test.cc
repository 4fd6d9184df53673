// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/relation_tile.h"
#include "edgewise/kernels/attention/tile_attention.h"
#include "tests/support/error_of.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

std::vector<NamedRelation> tileable_relations() {
  std::vector<NamedRelation> relations = large_relation_zoo();
  std::erase_if(relations, [](const NamedRelation& entry) { return !rows_ascend(entry.relation.view()); });
  relations.push_back({"far apart, as rows", random_relation(700, 60, 5, /*seed=*/1)});
  relations.push_back({"long", window(1000, {.before = 30, .after = 70})});
  relations.push_back({"far apart", Relation::from_intervals(500, {{490, 500}, {0, 3}, {200, 300}, {7, 7}, {0, 500}})});
  return relations;
}

TEST(TilePlan, HasEveryRowInOneBlockThatSpansItsSources) {
  for (const auto& [name, relation] : tileable_relations()) {
    SCOPED_TRACE(name);
    const TilePlan plan(relation.view());

    std::int64_t row = 0;
    for (const RowBlock& block : plan.blocks) {
      EXPECT_EQ(block.row_begin, row);
      EXPECT_LE(block.row_end - block.row_begin, kTileRows);
      for (; row < block.row_end; ++row) {
        for (EdgeIndex edge = relation.row_begin()[row]; edge < relation.row_begin()[row + 1]; ++edge) {
          EXPECT_LE(block.sources.begin, relation.view().source(row, edge));
          EXPECT_GT(block.sources.end, relation.view().source(row, edge));
        }
      }
    }
    EXPECT_EQ(row, relation.num_destinations());
  }
}

TEST(TilePlan, HasEverySourceInOneTileOrInOneUnusedInterval) {
  for (const auto& [name, relation] : tileable_relations()) {
    SCOPED_TRACE(name);
    const TilePlan plan(relation.view());

    std::vector<int> times(relation.num_sources(), 0);
    for (const SourceTile& tile : plan.tiles) {
      EXPECT_LE(tile.sources.end - tile.sources.begin, kTileSources);
      for (NodeIndex source = tile.sources.begin; source < tile.sources.end; ++source) ++times[source];
    }
    for (const Interval& unused : plan.unused_sources) {
      for (NodeIndex source = unused.begin; source < unused.end; ++source) ++times[source];
    }
    EXPECT_THAT(times, testing::Each(1));
  }
}

TEST(TilePlan, ListsTheBlocksWithEdgesFromATile) {
  for (const auto& [name, relation] : tileable_relations()) {
    SCOPED_TRACE(name);
    const TilePlan plan(relation.view());

    for (const SourceTile& tile : plan.tiles) {
      std::vector<const RowBlock*> listed;
      for (std::int64_t i = tile.block_begin; i < tile.block_end; ++i) listed.push_back(&plan.block_of(i));
      EXPECT_TRUE(std::ranges::is_sorted(listed, std::ranges::less()));
      for (const RowBlock& block : plan.blocks) {
        const bool is_listed = std::ranges::find(listed, &block) != listed.end();
        const bool is_empty = RelationTile(plan, block, tile.sources).is_empty();
        EXPECT_TRUE(is_listed || is_empty);
        if (plan.relation.sources != nullptr) {
          EXPECT_TRUE(is_listed != is_empty);
        }
      }
    }
  }
}

TEST(TilePlan, HasARunForEachSentence) {
  const std::vector<Relation> sentences = {complete(4), causal(70), bipartite(3, 5)};
  const TilePlan plan(join(sentences).view());

  ASSERT_EQ(plan.runs.size(), 3u);
  EXPECT_EQ(plan.runs[1].sources, (Interval{4, 74}));
  EXPECT_EQ(plan.runs[1].block_end - plan.runs[1].block_begin, 2);
  EXPECT_EQ(plan.blocks[plan.runs[1].block_begin].row_begin, 4);
}

TEST(TilePlan, SavesWeightsOfShortSentencesForBackward) {
  const std::vector<Relation> sentences = {causal(kMaxSavedSources), complete(kMaxSavedSources + 1), complete(17)};
  const TilePlan plan(join(sentences).view());
  ASSERT_EQ(plan.blocks.size(), 4U);
  EXPECT_EQ(plan.blocks[0].saved_begin, 0);
  EXPECT_EQ(plan.blocks[1].saved_begin, -1);
  EXPECT_EQ(plan.blocks[2].saved_begin, -1);
  EXPECT_EQ(plan.blocks[3].saved_begin, kMaxSavedSources * kMaxSavedSources);
  EXPECT_EQ(plan.num_saved_weights, kMaxSavedSources * kMaxSavedSources + 17 * 32);
  EXPECT_EQ(TilePlan(window(1000, {.before = 3, .after = 3}).view()).num_saved_weights, 0);
}

TEST(TilePlan, RejectsRowsWhoseSourcesDoNotAscend) {
  for (const std::vector<NodeIndex>& sources : {std::vector<NodeIndex>{1, 0}, std::vector<NodeIndex>{2, 2}}) {
    const Relation relation = Relation::from_csr(3, {0, 2}, sources);
    EXPECT_FALSE(rows_ascend(relation.view()));
    EXPECT_EQ(error_of([&] { TilePlan(relation.view()); }),
              "TilePlan: relation has a row whose sources do not ascend, needs rows that do");
  }
}

TEST(TilePlan, FillIsTheShareOfComputedScoresThatAreEdges) {
  EXPECT_EQ(TilePlan(complete(40).view()).fill, 1.0);
  EXPECT_EQ(TilePlan(complete(32).to_csr().view()).fill, 1.0);
  EXPECT_EQ(TilePlan(window(320, {}).to_csr().view()).fill, 1.0 / 16);
  // Row i of a causal relation of 16 nodes has i + 1 edges: 8.5 of 16 on average.
  EXPECT_EQ(TilePlan(causal(16).to_csr().view()).fill, 8.5 / 16);
}

TEST(DenseTilePlan, ExistsOnlyForDenseRelationsWhoseRowsAscend) {
  EXPECT_TRUE(make_dense_tile_plan(block_local(300, 48).to_csr().view()).has_value());
  EXPECT_FALSE(make_dense_tile_plan(random_relation(800, 100, 32, /*seed=*/1).view()).has_value());
  EXPECT_FALSE(make_dense_tile_plan(Relation::from_csr(3, {0, 3}, {2, 1, 0}).view()).has_value());
  // Each row has edges from the first group and from one other group, which differs from row to row of a block: most
  // computed scores are no edges.
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<NodeIndex> sources;
  for (NodeIndex row = 0; row < 60; ++row) {
    for (const NodeIndex group : {0, 1 + row}) {
      for (NodeIndex i = 0; i < 16; ++i) sources.push_back(16 * group + i);
    }
    row_begin.push_back(std::ssize(sources));
  }
  EXPECT_FALSE(make_dense_tile_plan(Relation::from_csr(16 * 61, row_begin, sources).view()).has_value());
}

std::int64_t source_of_column(const RelationTile& tile, std::int64_t column) {
  std::int64_t source = -1;
  tile.for_spans([&](const SourceSpan& span) {
    if (span.column <= column && column < span.column + span.count) {
      source = span.source + column - span.column;
    }
  });
  return source;
}

TEST(RelationTile, HoldsEveryEdgeOnce) {
  for (const auto& [name, relation] : tileable_relations()) {
    SCOPED_TRACE(name);
    const TilePlan plan(relation.view());
    std::vector<int> times(relation.num_edges(), 0);
    for (const RowBlock& block : plan.blocks) {
      for_tiles(plan, block, [&](Interval sources) {
        const RelationTile tile(plan, block, sources);
        for (std::int64_t row = 0; row < tile.num_rows(); ++row) {
          tile.for_edges(row, [&](std::int64_t i, std::int64_t column) {
            const EdgeIndex edge = tile.first_edge(row) + i;
            ++times[edge];
            EXPECT_EQ(relation.view().source(block.row_begin + row, edge), source_of_column(tile, column));
          });
        }
      });
    }
    EXPECT_THAT(times, testing::Each(1));
  }
}

TEST(RelationTile, FindsColumnsOfRowsAndRowsOfColumns) {
  for (const auto& [name, relation] : tileable_relations()) {
    SCOPED_TRACE(name);
    const TilePlan plan(relation.view());
    for (const RowBlock& block : plan.blocks) {
      for_tiles(plan, block, [&](Interval sources) {
        const RelationTile tile(plan, block, sources);
        for (std::int64_t row = 0; row < tile.num_rows(); ++row) {
          const IndexRange columns_of_three =
              tile.columns_of_rows(row, std::min<std::int64_t>(3, tile.num_rows() - row));
          tile.for_edges(row, [&](std::int64_t, std::int64_t column) {
            EXPECT_LE(columns_of_three.begin, column);
            EXPECT_GT(columns_of_three.end, column);
            const IndexRange rows = tile.rows_of_columns(column, 1);
            EXPECT_LE(rows.begin, row);
            EXPECT_GT(rows.end, row);
          });
        }
      });
    }
  }
}

TEST(SplitBackward, KeepsShortSentencesWhole) {
  const std::vector<Relation> sentences(20, causal(30));
  const TilePlan plan(join(sentences).view());

  const std::vector<BackwardPart> parts = split_backward(plan, /*num_heads=*/1, /*num_threads=*/2);

  ASSERT_EQ(parts.size(), 21u);
  for (const BackwardPart& part : parts) EXPECT_EQ(part.kind, BackwardPart::Kind::kRun);
}

TEST(SplitBackward, SplitsALongSentenceIfThreadsWouldWait) {
  const TilePlan plan(complete(1000).view());

  EXPECT_EQ(split_backward(plan, /*num_heads=*/1, /*num_threads=*/1).size(), 2u);
  EXPECT_EQ(split_backward(plan, /*num_heads=*/8, /*num_threads=*/2).size(), 2u);
  const std::vector<BackwardPart> parts = split_backward(plan, /*num_heads=*/1, /*num_threads=*/2);
  EXPECT_EQ(parts.size(), plan.blocks.size() + plan.tiles.size() + 1);
  EXPECT_TRUE(std::ranges::is_sorted(parts, {}, &BackwardPart::cost_before));
}

}  // namespace
}  // namespace edgewise::kernels
