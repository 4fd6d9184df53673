// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/builders.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/graph/draw_distinct.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {
namespace {

/// Makes a relation whose row d is the interval [begin, end) that `interval_of(d)` returns as two std::int64_t.
template <typename IntervalOf>
Relation interval_relation(std::int64_t num_sources, std::int64_t num_destinations, IntervalOf interval_of) {
  std::vector<Interval> rows(num_destinations);
  for (std::int64_t d = 0; d < num_destinations; ++d) {
    const auto [begin, end] = interval_of(d);
    rows[d] = {.begin = static_cast<NodeIndex>(begin), .end = static_cast<NodeIndex>(end)};
  }
  return Relation::from_intervals(num_sources, std::move(rows));
}

}  // namespace

std::vector<std::int64_t> draw_distinct(RandomStream random, std::int64_t count, std::int64_t bound) {
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::int64_t last = bound - count; last < bound; ++last) {
    const auto number = static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(last) + 1));
    const auto place = std::ranges::lower_bound(drawn, number);
    const bool is_new = place == drawn.end() || *place != number;
    if (is_new) {
      drawn.insert(place, number);
    } else {
      drawn.push_back(last);  // above all numbers drawn before
    }
  }
  return drawn;
}

Relation complete(std::int64_t num_nodes) {
  check_node_count(num_nodes, "complete: num_nodes");
  return bipartite(num_nodes, num_nodes);
}

Relation causal(std::int64_t num_nodes) {
  check_node_count(num_nodes, "causal: num_nodes");
  return interval_relation(num_nodes, num_nodes,
                           [](std::int64_t node) { return std::pair(std::int64_t{0}, node + 1); });
}

Relation bipartite(std::int64_t num_sources, std::int64_t num_destinations) {
  check_node_count(num_sources, "bipartite: num_sources");
  check_node_count(num_destinations, "bipartite: num_destinations");
  return interval_relation(num_sources, num_destinations,
                           [&](std::int64_t) { return std::pair(std::int64_t{0}, num_sources); });
}

Relation prefix(std::int64_t num_sources, std::span<const std::int64_t> lengths) {
  check_node_count(num_sources, "prefix: num_sources");
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check(lengths[i] >= 0 && lengths[i] <= num_sources,
          "prefix: lengths[{}] is {}, needs a number from 0 to {}, the number of sources", i, lengths[i], num_sources);
  }
  return interval_relation(num_sources, std::ssize(lengths),
                           [&](std::int64_t d) { return std::pair(std::int64_t{0}, lengths[d]); });
}

Relation window(std::int64_t num_nodes, const WindowOptions& options) {
  check_node_count(num_nodes, "window: num_nodes");
  check(options.before >= 0, "window: before is {}, needs 0 or more", options.before);
  check(options.after >= 0, "window: after is {}, needs 0 or more", options.after);
  check(options.dilation >= 1, "window: dilation is {}, needs 1 or more", options.dilation);

  // Clips the steps to existing nodes, so that large options cannot overflow.
  const std::int64_t dilation = options.dilation;
  auto ends = [&](std::int64_t node) {
    const std::int64_t back = std::min(options.before, node / dilation);
    const std::int64_t ahead = std::min(options.after, (num_nodes - 1 - node) / dilation);
    return std::pair(node - back * dilation, node + ahead * dilation + 1);
  };
  if (dilation == 1) return interval_relation(num_nodes, num_nodes, ends);
  return Relation::from_rows(num_nodes, num_nodes, [&](std::int64_t node, std::vector<NodeIndex>& sources) {
    const auto [begin, end] = ends(node);
    for (std::int64_t source = begin;; source += dilation) {
      sources.push_back(static_cast<NodeIndex>(source));
      if (end - source <= dilation) break;
    }
  });
}

Relation strided(std::int64_t num_nodes, std::int64_t stride) {
  check_node_count(num_nodes, "strided: num_nodes");
  check(stride >= 1, "strided: stride is {}, needs 1 or more", stride);
  return window(num_nodes, {.before = num_nodes, .after = 0, .dilation = stride});
}

Relation block_local(std::int64_t num_nodes, std::int64_t block_size, Direction direction) {
  check_node_count(num_nodes, "block_local: num_nodes");
  check(block_size >= 1, "block_local: block_size is {}, needs 1 or more", block_size);
  return interval_relation(num_nodes, num_nodes, [&](std::int64_t node) {
    const std::int64_t begin = node - node % block_size;
    const std::int64_t block_end = begin + std::min(block_size, num_nodes - begin);
    return std::pair(begin, direction == Direction::kCausal ? node + 1 : block_end);
  });
}

Relation random_relation(std::int64_t num_sources, std::int64_t num_destinations, std::int64_t in_degree,
                         std::uint64_t seed) {
  check_node_count(num_sources, "random_relation: num_sources");
  check_node_count(num_destinations, "random_relation: num_destinations");
  check(in_degree >= 0, "random_relation: in_degree is {}, needs 0 or more", in_degree);
  if (in_degree >= num_sources) return bipartite(num_sources, num_destinations);

  return Relation::from_rows(num_sources, num_destinations, [&](std::int64_t d, std::vector<NodeIndex>& sources) {
    for (const std::int64_t source : draw_distinct(RandomStream(seed, d), in_degree, num_sources)) {
      sources.push_back(static_cast<NodeIndex>(source));
    }
  });
}

Relation from_mask(std::int64_t num_sources, std::int64_t num_destinations, std::span<const std::uint8_t> mask) {
  check_node_count(num_sources, "from_mask: num_sources");
  check_node_count(num_destinations, "from_mask: num_destinations");
  check(std::ssize(mask) == num_sources * num_destinations,
        "from_mask: mask has {} entries, needs {}, one for each of {} sources at each of {} destinations", mask.size(),
        num_sources * num_destinations, num_sources, num_destinations);

  return Relation::from_rows(num_sources, num_destinations, [&](std::int64_t d, std::vector<NodeIndex>& sources) {
    for (std::int64_t source = 0; source < num_sources; ++source) {
      if (mask[d * num_sources + source] != 0) sources.push_back(static_cast<NodeIndex>(source));
    }
  });
}

}  // namespace edgewise
