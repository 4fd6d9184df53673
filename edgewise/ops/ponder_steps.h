// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace edgewise {

/// The number of nodes for each number of ponder steps.
using PonderHistogram = std::map<std::int64_t, std::int64_t>;

/// The sum of the ponder steps of several nodes. A model without adaptive computation has 0 nodes here.
struct PonderSteps {
  std::int64_t nodes = 0;
  std::int64_t steps = 0;

  std::optional<double> mean() const {
    return nodes > 0 ? std::optional(static_cast<double>(steps) / static_cast<double>(nodes)) : std::nullopt;
  }

  PonderSteps& operator+=(const PonderSteps& other) {
    nodes += other.nodes;
    steps += other.steps;
    return *this;
  }
  bool operator==(const PonderSteps&) const = default;
};

inline PonderSteps count_steps(const PonderHistogram& histogram) {
  PonderSteps count;
  for (const auto& [steps, nodes] : histogram) count += {nodes, nodes * steps};
  return count;
}

}  // namespace edgewise
