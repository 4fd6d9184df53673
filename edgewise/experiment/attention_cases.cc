// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/attention_cases.h"

#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"

namespace edgewise {
namespace {

// What Python's random.seed(0) and randint(6, 28) draw, so that peers can attend over as many edges.
constexpr std::array<std::int64_t, 128> kSentenceLengths = {
    18, 19, 7,  14, 22, 21, 18, 15, 21, 17, 24, 12, 22, 10, 15, 10, 9,  25, 14, 23, 28, 25, 10, 15, 9,  8,
    27, 16, 21, 23, 9,  17, 19, 16, 25, 26, 12, 23, 21, 20, 22, 14, 7,  23, 6,  8,  18, 28, 27, 26, 6,  25,
    21, 16, 13, 16, 28, 8,  12, 24, 13, 13, 10, 23, 20, 8,  8,  16, 22, 21, 9,  15, 23, 15, 28, 9,  23, 16,
    23, 12, 25, 23, 24, 15, 20, 8,  25, 18, 16, 24, 13, 15, 11, 12, 11, 7,  25, 27, 14, 21, 8,  8,  27, 10,
    10, 7,  8,  28, 23, 27, 18, 28, 22, 14, 22, 13, 12, 27, 24, 19, 24, 14, 20, 21, 27, 26, 28, 17};

template <class MakeSentence>
Relation sentences(MakeSentence make) {
  std::vector<Relation> relations;
  relations.reserve(kSentenceLengths.size());
  for (const std::int64_t length : kSentenceLengths) relations.push_back(make(length));
  return join(relations);
}

// A source may be drawn twice.
Relation drawn(std::int64_t num_nodes, std::int64_t degree) {
  RandomStream random(/*seed=*/1);
  std::vector<EdgeIndex> row_begin;
  for (std::int64_t row = 0; row <= num_nodes; ++row) row_begin.push_back(row * degree);
  std::vector<NodeIndex> sources(num_nodes * degree);
  for (NodeIndex& source : sources) {
    source = static_cast<NodeIndex>(random.below(static_cast<std::uint64_t>(num_nodes)));
  }
  return Relation::from_rows(num_nodes, std::move(row_begin), std::move(sources));
}

Relation complete_sentences() {
  return sentences([](std::int64_t length) { return complete(length); });
}

}  // namespace

AttentionWorkload attention_workload(AttentionCase which) {
  switch (which) {
    case AttentionCase::kSentences:
      return {.relation = complete_sentences()};
    case AttentionCase::kCausal:
      return {.relation = sentences([](std::int64_t length) { return causal(length); })};
    case AttentionCase::kSmall:
      return {.relation = complete_sentences(), .heads = 4, .head_size = 32};
    case AttentionCase::kWindow:
      return {.relation = window(4096, {.before = 128, .after = 128})};
    case AttentionCase::kRandom:
      return {.relation = drawn(8192, 32)};
  }
  fail("attention_workload: which is {}, needs a case", static_cast<int>(which));
}

}  // namespace edgewise
