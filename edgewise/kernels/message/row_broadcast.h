// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edgewise::kernels {

/// How the elements of an operand's row follow the elements of the broadcast row.
enum class RowReading {
  kWhole,     // element i is element i
  kRepeated,  // element i is element i / run_length
  kRuns,      // otherwise: by runs
};

/// The rows of two operands and of an output, aligned at their last dimensions. In each dimension a size is that of the
/// broadcast row or 1. An operand of size 1 is repeated there; an output of size 1 is the sum over the dimension. The
/// elements of the broadcast row, in row-major order, are cut into runs of one length, within which each of the three
/// either steps by 1 or stays at one element.
struct RowBroadcast {
  struct Run {
    std::int64_t left;  // offset in a row of the left operand
    std::int64_t right;
    std::int64_t out;
  };

  std::int64_t size = 1;  // elements of the broadcast row: runs.size() * run_length
  std::int64_t left_size = 1;
  std::int64_t right_size = 1;
  std::int64_t out_size = 1;
  std::int64_t run_length = 1;
  bool left_steps = false;
  bool right_steps = false;
  bool out_steps = false;
  std::vector<Run> runs;

  RowReading left_reading() const { return reading(left_size, left_steps); }
  RowReading right_reading() const { return reading(right_size, right_steps); }
  /// kWhole: the output is the broadcast row; kRepeated: each element is the sum of a run.
  RowReading out_reading() const { return reading(out_size, out_steps); }

  /// Returns the broadcast with the operands exchanged.
  RowBroadcast swapped() const;

 private:
  RowReading reading(std::int64_t operand_size, bool steps) const;
};

/// Aligns rows of these sizes. Dimensions that are missing in front have size 1. Throws Error for sizes that do not
/// align.
RowBroadcast broadcast_rows(std::span<const std::int64_t> left, std::span<const std::int64_t> right,
                            std::span<const std::int64_t> out);

}  // namespace edgewise::kernels
