// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "edgewise/device/launch_graph.h"
#include "edgewise/runtime/gpu/array.h"

namespace edgewise {

/// Repeats the kernels and copies of steps with equal shapes as graphs, which takes less time of the host than to begin
/// each of them.
class StepGraphs {
 public:
  /// The sizes, offsets and counts that decide which kernels a step runs, and with which arguments, as long as no array
  /// grows.
  using Shape = std::vector<std::int64_t>;

  /// Begins a step. The first step of a shape calls begin_all(), which may let arrays grow. The second one records what
  /// begin_all() begins as a graph, and later ones launch this graph without a call of begin_all(). When an array of
  /// the stream grows, all graphs are discarded, because they have its old address.
  void begin(const Shape& shape, const GpuStream& stream, const std::function<void()>& begin_all);

  /// Returns the number of recorded shapes.
  std::int64_t size() const;

 private:
  static constexpr std::size_t kMaxShapes = 256;

  std::int64_t num_allocations_ = 0;
  std::map<Shape, std::optional<device::LaunchGraph>> graphs_;  // without a graph after the first step
};

}  // namespace edgewise
