// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace edgewise {

/// How many nodes took so many steps.
using StepHistogram = std::map<std::int64_t, std::int64_t>;

/// How many steps nodes took together, of a model whose nodes decide that for themselves; no nodes of another.
struct StepCount {
  std::int64_t nodes = 0;
  std::int64_t steps = 0;

  std::optional<double> mean() const {
    return nodes > 0 ? std::optional(static_cast<double>(steps) / static_cast<double>(nodes)) : std::nullopt;
  }

  StepCount& operator+=(const StepCount& other) {
    nodes += other.nodes;
    steps += other.steps;
    return *this;
  }
  bool operator==(const StepCount&) const = default;
};

inline StepCount count_steps(const StepHistogram& histogram) {
  StepCount count;
  for (const auto& [steps, nodes] : histogram) count += {nodes, nodes * steps};
  return count;
}

}  // namespace edgewise
