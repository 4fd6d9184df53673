// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/ops/attend_comparison.h"

namespace edgewise {

/// Draws the relation, options and inputs of one case.
class RandomAttend {
 public:
  explicit RandomAttend(std::uint64_t number) : number_(number), random_(/*seed=*/17, number) {}

  Relation draw_relation() {
    const bool is_wide = chance(4);
    num_sources_ = is_wide ? 1 + below(9000) : 1 + below(90);
    const std::int64_t num_rows = is_wide ? 1 + below(12) : 1 + below(90);
    std::vector<Interval> rows;
    for (std::int64_t row = 0; row < num_rows; ++row) rows.push_back(draw_interval());
    order(rows);
    return chance(2) ? Relation::from_intervals(num_sources_, rows) : draw_rows(rows);
  }

  AttentionOptions draw_options() {
    AttentionOptions options;
    if (chance(3)) options.scale = pick({0.0, 0.3, -1.0});
    if (chance(4)) options.clamp = pick({0.4, 2.0});
    if (chance(3)) options.dropout = pick({0.3, 0.9});
    options.dropout_key = {.seed = random_.next_u64(), .stream = random_.next_u64()};
    return options;
  }

  Tensors draw_inputs(const Relation& relation, at::ScalarType type) {
    const std::int64_t head_size = 1 + below(chance(4) ? 70 : 20);
    const std::int64_t value_size = chance(2) ? head_size : 1 + below(20);
    const std::int64_t heads = 1 + below(4);
    const std::int64_t key_heads = chance(3) ? 1 : heads == 4 && chance(2) ? 2 : heads;
    Tensors inputs = random_inputs(relation, heads, head_size, value_size, type, key_heads);
    for (at::Tensor& input : inputs) input = input.roll({static_cast<std::int64_t>(number_ % 7)}, {0});
    if (chance(2)) inputs.pop_back();
    return inputs;
  }

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_.next_below(static_cast<std::uint64_t>(end)));
  }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }

 private:
  double pick(const std::vector<double>& values) { return values[static_cast<std::size_t>(below(std::ssize(values)))]; }

  Interval draw_interval() {
    if (chance(6)) return {0, 0};
    const std::int64_t begin = below(num_sources_);
    const std::int64_t longest = std::min<std::int64_t>(num_sources_ - begin, chance(4) ? 300 : 20);
    return {static_cast<NodeIndex>(begin), static_cast<NodeIndex>(begin + 1 + below(longest))};
  }

  void order(std::vector<Interval>& rows) {
    const std::int64_t kind = below(3);
    if (kind == 0) return;
    std::ranges::sort(rows, {}, &Interval::begin);
    if (kind == 1) std::ranges::reverse(rows);
  }

  /// Returns some of the sources of each interval: most or few; ascending, or in any order and with equal ones.
  Relation draw_rows(const std::vector<Interval>& rows) {
    const bool is_dense = chance(2);
    const bool ascends = chance(2);
    std::vector<EdgeIndex> row_begin = {0};
    std::vector<NodeIndex> sources;
    for (const Interval& row : rows) {
      for (NodeIndex source = row.begin; source < row.end; ++source) {
        if (chance(4) == is_dense) continue;
        const std::int64_t other = row.begin + below(row.end - row.begin);
        sources.push_back(ascends ? source : static_cast<NodeIndex>(other));
      }
      row_begin.push_back(std::ssize(sources));
    }
    return Relation::from_csr(num_sources_, row_begin, sources);
  }

  std::uint64_t number_;
  RandomStream random_;
  std::int64_t num_sources_ = 0;
};

}  // namespace edgewise
