// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using Entries = std::vector<const float*>;

const std::vector<RelationTerms> kTermLists = {
    {},
    {{.kind = TermKind::kCausal}},
    {{.kind = TermKind::kWindow, .size = 5}},
    {{.kind = TermKind::kWindow, .size = 20}, {.kind = TermKind::kSinks, .size = 3}},
    {{.kind = TermKind::kWindow, .size = 1}, {.kind = TermKind::kSinks, .size = 40}},
    {{.kind = TermKind::kDilated, .size = 4, .step = 3}, {.kind = TermKind::kSinks, .size = 1}},
    {{.kind = TermKind::kBlocks, .size = 7}},
    {{.kind = TermKind::kSinks, .size = 2}},
    {{.kind = TermKind::kGlobal, .size = 6}, {.kind = TermKind::kWindow, .size = 2}},
    {{.kind = TermKind::kRandom, .size = 3}, {.kind = TermKind::kWindow, .size = 2}}};

/// Texts that branch, with the entries from the root to each node.
class Texts {
 public:
  explicit Texts(KvCache<float>& cache) : cache_(cache) {}

  void begin(std::int64_t slot) {
    const std::vector<std::int64_t> slots = {slot};
    cache_.clear_slots(slots);
    paths_[slot].clear();
  }

  /// Adds nodes, and returns the entries of each row's path.
  std::vector<Entries> add(const std::vector<NewNode>& nodes) {
    cache_.add_nodes(nodes);
    std::vector<Entries> added;
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      std::vector<Entries>& paths = paths_[nodes[row].slot];
      Entries path;
      if (nodes[row].parent >= 0) path = paths[static_cast<std::size_t>(nodes[row].parent)];
      path.push_back(cache_.rows()[row]);
      paths.push_back(path);
      added.push_back(path);
    }
    return added;
  }

  std::int64_t num_nodes(std::int64_t slot) const { return std::ssize(paths_.at(slot)); }

 private:
  KvCache<float>& cache_;
  std::map<std::int64_t, std::vector<Entries>> paths_;  // by slot and node
};

Entries definition(const RelationTerms& terms, const Entries& path) {
  if (terms.empty()) return path;
  std::vector<NodeIndex> tokens;
  append_sources(terms, Direction::kCausal, {.token = std::ssize(path) - 1, .length = std::ssize(path)}, tokens);
  Entries entries;
  for (const NodeIndex token : tokens) entries.push_back(path[static_cast<std::size_t>(token)]);
  return entries;
}

Entries entries_of_row(const AttendedEntries<float>& attended, std::size_t row) {
  const auto [begin, count] = attended.ranges[row];
  return {attended.entries.begin() + begin, attended.entries.begin() + begin + count};
}

void expect_ancestors(const KvCache<float>& cache, const std::vector<RelationTerms>& relations,
                      const std::vector<Entries>& paths) {
  for (std::size_t relation = 0; relation < relations.size(); ++relation) {
    const AttendedEntries<float>& attended = cache.ancestors(relation);
    ASSERT_EQ(attended.ranges.size(), paths.size());
    for (std::size_t row = 0; row < paths.size(); ++row) {
      const Entries found = entries_of_row(attended, row);
      ASSERT_EQ(found, definition(relations[relation], paths[row])) << "relation " << relation << ", row " << row;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<std::size_t>(attended.ranges[row].begin) + i;
        const std::size_t position = attended.positions.empty() ? i : attended.positions[place];
        ASSERT_EQ(paths[row][position], found[i]);
      }
    }
  }
}

/// Runs two slots with a beginning and branches that grow together; a branch is now and then replaced by another one.
void check_growing_texts(const std::vector<RelationTerms>& relations) {
  KvCache<float> cache({.self_layers = 2, .cross_layers = 0, .width = 16, .relations = relations});
  Texts texts(cache);
  RandomStream random(6);
  std::map<std::int64_t, std::vector<std::int64_t>> branches;  // the last nodes of a slot
  for (const std::int64_t slot : {0, 1}) {
    texts.begin(slot);
    std::vector<NewNode> beginning;
    for (std::int64_t i = 0; i < 37 + 20 * slot; ++i) beginning.push_back({slot, static_cast<NodeIndex>(i - 1), 5});
    const auto middle = beginning.begin() + 11;
    expect_ancestors(cache, relations, texts.add({beginning.begin(), middle}));
    expect_ancestors(cache, relations, texts.add({middle, beginning.end()}));
    branches[slot] = {36 + 20 * slot};
  }
  for (int step = 0; step < 120; ++step) {
    std::vector<NewNode> nodes;
    for (auto& [slot, last] : branches) {
      if (step == 3) last.assign(3, last.front());
      if (step > 3) last[random.next_below(3)] = last[random.next_below(3)];
      std::int64_t next = texts.num_nodes(slot);
      for (std::int64_t& node : last) {
        nodes.push_back({slot, static_cast<NodeIndex>(node), 4});
        node = next++;
      }
    }
    expect_ancestors(cache, relations, texts.add(nodes));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(KvCache, GivesEachNodeTheAncestorsThatItsRelationPermits) {
  for (std::size_t i = 0; i < kTermLists.size(); ++i) {
    SCOPED_TRACE("relation " + std::to_string(i));
    check_growing_texts({kTermLists[i]});
    if (HasFatalFailure()) return;
  }
}

TEST(KvCache, GivesEachLayerItsRelation) {
  check_growing_texts({kTermLists[3], kTermLists[5], kTermLists[2]});
  check_growing_texts({kTermLists[3], kTermLists[1]});
}

/// Returns how many entries a text and a branch of it, 4000 tokens together, have in memory.
std::size_t count_entries(const RelationTerms& terms) {
  KvCache<float> cache({.self_layers = 1, .cross_layers = 0, .width = 16, .relations = {terms}});
  const std::vector<std::int64_t> slots = {0};
  cache.clear_slots(slots);
  std::set<const float*> entries;
  NodeIndex last = -1;
  NodeIndex next = 0;
  const auto add = [&](const std::vector<NewNode>& nodes) {
    cache.add_nodes(nodes);
    entries.insert(cache.rows().begin(), cache.rows().end());
    next += static_cast<NodeIndex>(nodes.size());
    last = next - 1;
  };
  for (int block = 0; block < 8; ++block) {
    std::vector<NewNode> nodes;
    for (NodeIndex i = 0; i < 250; ++i) nodes.push_back({0, last + i, 4});
    add(nodes);
  }
  for (int step = 0; step < 1000; ++step) add({{0, last, 4}, {0, last, 5}});
  return entries.size();
}

TEST(KvCache, KeepsTheReachOfWindowsAndSinksAlone) {
  constexpr std::size_t kBlock = 250;  // tokens that are added at a time
  constexpr std::size_t kPartlyUsed = 3 * BlockShape::kTokens;
  EXPECT_LE(count_entries({{.kind = TermKind::kWindow, .size = 64}}), 2 * 64 + kBlock + kPartlyUsed);
  EXPECT_LE(count_entries({{.kind = TermKind::kWindow, .size = 64}, {.kind = TermKind::kSinks, .size = 20}}),
            2 * 64 + 32 + kBlock + kPartlyUsed);
  EXPECT_LE(count_entries({{.kind = TermKind::kDilated, .size = 8, .step = 8}}), 2 * 64 + kBlock + kPartlyUsed);
  EXPECT_GE(count_entries({{.kind = TermKind::kGlobal, .size = 64}}), 4000u);
  EXPECT_GE(count_entries({}), 4000u);
}

TEST(KvCache, RefusesANodeWhoseParentWasDiscardedAndOneThatReachesADiscardedNode) {
  KvCache<float> cache(
      {.self_layers = 1, .cross_layers = 0, .width = 16, .relations = {{{.kind = TermKind::kWindow, .size = 8}}}});
  const std::vector<std::int64_t> slots = {0};
  cache.clear_slots(slots);
  for (NodeIndex i = 0; i < 100; ++i) cache.add_nodes(std::vector<NewNode>{{0, i - 1, 4}});
  EXPECT_EQ(error_of([&] {
              cache.add_nodes(std::vector<NewNode>{{0, 20, 4}});
            }),
            "step: token 20 of a text was discarded, needs to be within the reach of the model's relation; add tokens "
            "in the order of their positions");
  EXPECT_EQ(error_of([&] {
              cache.add_nodes(std::vector<NewNode>{{0, 99, 4}, {0, 82, 4}});
            }),
            "step: token 79 of a text was discarded, needs to be within the reach of the model's relation; add tokens "
            "in the order of their positions");
  cache.clear_slots(slots);
  cache.add_nodes(std::vector<NewNode>{{0, -1, 4}});
  EXPECT_EQ(cache.positions(), (std::vector<std::int64_t>{0}));
}

}  // namespace
}  // namespace edgewise
