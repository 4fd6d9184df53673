// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

/// The numbers of the nodes from the root of a text to a node.
using Path = std::vector<float>;

constexpr std::int64_t kLayers = 2;

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

/// Texts that branch, with the path to each node. The first element of each entry of a node is a number that no other
/// node has, so that an entry of a node that was discarded too early is found.
class Texts {
 public:
  explicit Texts(KvCache<float>& cache) : cache_(cache) {}

  void begin(std::int64_t slot) {
    const std::vector<std::int64_t> slots = {slot};
    cache_.clear_slots(slots);
    paths_[slot].clear();
  }

  /// Adds nodes, and returns the path of each.
  std::vector<Path> add(const std::vector<NewNode>& nodes) {
    cache_.add_nodes(nodes);
    std::vector<Path> added;
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      std::vector<Path>& paths = paths_[nodes[row].slot];
      Path path;
      if (nodes[row].parent >= 0) path = paths[static_cast<std::size_t>(nodes[row].parent)];
      path.push_back(next_number_++);
      for (std::int64_t layer = 0; layer < kLayers; ++layer) {
        cache_.rows()[row][cache_.self_offset(layer)] = path.back() + static_cast<float>(layer) / kLayers;
      }
      paths.push_back(path);
      added.push_back(path);
    }
    return added;
  }

  std::int64_t num_nodes(std::int64_t slot) const { return std::ssize(paths_.at(slot)); }

 private:
  KvCache<float>& cache_;
  std::map<std::int64_t, std::vector<Path>> paths_;  // by slot and node
  float next_number_ = 1;
};

Path definition(const RelationTerms& terms, const Path& path) {
  if (terms.empty()) return path;
  std::vector<NodeIndex> tokens;
  append_sources(terms, Direction::kCausal, {.token = std::ssize(path) - 1, .length = std::ssize(path)}, tokens);
  Path attended;
  for (const NodeIndex token : tokens) attended.push_back(path[static_cast<std::size_t>(token)]);
  return attended;
}

/// Returns the numbers of the nodes that a row attends to, as the entries of a layer have them.
Path read_row(const AttendedEntries<float>& attended, std::size_t row, std::int64_t offset) {
  const auto [begin, count] = attended.ranges[row];
  Path numbers;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    numbers.push_back(std::floor(attended.entries[static_cast<std::size_t>(i)][offset]));
  }
  return numbers;
}

void expect_ancestors(const KvCache<float>& cache, const std::vector<RelationTerms>& relations,
                      const std::vector<Path>& paths) {
  for (std::size_t relation = 0; relation < relations.size(); ++relation) {
    const AttendedEntries<float>& attended = cache.ancestors(relation);
    ASSERT_EQ(attended.ranges.size(), paths.size());
    for (std::size_t row = 0; row < paths.size(); ++row) {
      const Path found = read_row(attended, row, 0);
      ASSERT_EQ(found, definition(relations[relation], paths[row])) << "relation " << relation << ", row " << row;
      ASSERT_EQ(read_row(attended, row, cache.self_offset(kLayers - 1)), found);
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
  KvCache<float> cache({.self_layers = kLayers, .cross_layers = 0, .width = 16, .relations = relations});
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

/// Returns how many entries a text has in memory that begins with 2000 tokens and goes on with `steps` tokens, beside
/// each of which is another one.
std::size_t count_entries(const RelationTerms& terms, int steps = 1000) {
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
  for (int step = 0; step < steps; ++step) add({{0, last, 4}, {0, last, 5}});
  return entries.size();
}

TEST(KvCache, KeepsTheReachOfWindowsAndSinksAlone) {
  constexpr std::size_t kBlock = 250;  // tokens that are added at a time
  constexpr std::size_t kPartlyUsed = 3 * BlockShape::kTokens;
  EXPECT_LE(count_entries({{.kind = TermKind::kWindow, .size = 64}}), 2 * 64 + kBlock + kPartlyUsed);
  EXPECT_LE(count_entries({{.kind = TermKind::kWindow, .size = 64}, {.kind = TermKind::kSinks, .size = 20}}),
            2 * 64 + 32 + kBlock + kPartlyUsed);
  const RelationTerms short_reach = {{.kind = TermKind::kWindow, .size = 16}, {.kind = TermKind::kSinks, .size = 4}};
  constexpr int kMillionTokens = 500'000;  // two in each step
  EXPECT_EQ(count_entries(short_reach, kMillionTokens), count_entries(short_reach));
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
