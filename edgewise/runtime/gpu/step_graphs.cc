// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/step_graphs.h"

#include <algorithm>

namespace edgewise {

void StepGraphs::begin(const Shape& shape, const GpuStream& stream, const std::function<void()>& begin_all) {
  if (num_allocations_ != stream.num_allocations() || graphs_.size() > kMaxShapes) graphs_.clear();
  num_allocations_ = stream.num_allocations();
  const auto known = graphs_.find(shape);
  if (known == graphs_.end()) {
    graphs_.emplace(shape, std::nullopt);
    return begin_all();
  }
  if (!known->second) known->second = device::LaunchGraph::record(stream, begin_all);
  known->second->launch(stream);
}

std::int64_t StepGraphs::size() const {
  return std::ranges::count_if(graphs_, [](const auto& graph) { return graph.second.has_value(); });
}

}  // namespace edgewise
