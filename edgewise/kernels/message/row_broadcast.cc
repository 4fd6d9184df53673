// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/row_broadcast.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise::kernels {
namespace {

/// Neighbouring dimensions in which each of left, right and out steps, or each stays.
struct Dimension {
  std::int64_t size;
  std::array<bool, 3> steps;
};

std::int64_t size_at(std::span<const std::int64_t> sizes, std::size_t from_last) {
  return from_last < sizes.size() ? sizes[sizes.size() - 1 - from_last] : 1;
}

/// Returns the dimensions from the last to the first, without those of size 1, neighbours of one kind merged.
std::vector<Dimension> merge_dimensions(const std::array<std::span<const std::int64_t>, 3>& rows) {
  std::vector<Dimension> merged;
  const std::size_t count = std::max({rows[0].size(), rows[1].size(), rows[2].size()});
  for (std::size_t from_last = 0; from_last < count; ++from_last) {
    std::int64_t size = 1;
    for (const auto& row : rows) {
      if (size_at(row, from_last) != 1) size = size_at(row, from_last);
    }
    std::array<bool, 3> steps = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t own = size_at(rows[i], from_last);
      check(own == size || own == 1,
            "broadcast_rows: dimension {} from the last has the sizes {} and {}, needs one size or 1", from_last, own,
            size);
      steps[i] = own != 1;
    }
    if (size == 1) continue;
    if (!merged.empty() && merged.back().steps == steps) {
      merged.back().size *= size;
    } else {
      merged.push_back({size, steps});
    }
  }
  return merged;
}

}  // namespace

RowReading RowBroadcast::reading(std::int64_t operand_size, bool steps) const {
  if (operand_size == size) return RowReading::kWhole;
  return !steps && operand_size * run_length == size ? RowReading::kRepeated : RowReading::kRuns;
}

RowBroadcast RowBroadcast::swapped() const {
  RowBroadcast result = *this;
  std::swap(result.left_size, result.right_size);
  std::swap(result.left_steps, result.right_steps);
  for (Run& run : result.runs) std::swap(run.left, run.right);
  return result;
}

RowBroadcast broadcast_rows(std::span<const std::int64_t> left, std::span<const std::int64_t> right,
                            std::span<const std::int64_t> out) {
  const std::vector<Dimension> dimensions = merge_dimensions({left, right, out});
  RowBroadcast result;
  std::array<std::int64_t, 3> sizes = {1, 1, 1};
  if (!dimensions.empty()) {
    const Dimension& last = dimensions.front();
    result.run_length = last.size;
    result.left_steps = last.steps[0];
    result.right_steps = last.steps[1];
    result.out_steps = last.steps[2];
    for (std::size_t i = 0; i < 3; ++i) sizes[i] = last.steps[i] ? last.size : 1;
  }
  result.runs = {{0, 0, 0}};
  for (std::size_t d = 1; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    std::array<std::int64_t, 3> stride = {};
    for (std::size_t i = 0; i < 3; ++i) stride[i] = dimension.steps[i] ? sizes[i] : 0;
    const std::vector<RowBroadcast::Run> inner = std::exchange(result.runs, {});
    for (std::int64_t j = 0; j < dimension.size; ++j) {
      for (const RowBroadcast::Run& run : inner) {
        result.runs.push_back({run.left + j * stride[0], run.right + j * stride[1], run.out + j * stride[2]});
      }
    }
    for (std::size_t i = 0; i < 3; ++i) sizes[i] *= dimension.steps[i] ? dimension.size : 1;
  }
  result.left_size = sizes[0];
  result.right_size = sizes[1];
  result.out_size = sizes[2];
  result.size = static_cast<std::int64_t>(result.runs.size()) * result.run_length;
  return result;
}

}  // namespace edgewise::kernels
