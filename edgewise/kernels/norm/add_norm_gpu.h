// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/norm/add_norm.h"

// The operations between two sublayers on GPUs, for X, Y and N of float and BFloat16 as in add_norm.h. All pointers are
// to memory of the device, at multiples of 16 bytes. Each result has the same bits in every run.
namespace edgewise::kernels {

/// Returns whether add_norm_forward() and add_norm_backward() have kernels for rows of this size.
constexpr bool can_add_norm(std::int64_t size) { return size <= (size % 4 == 0 ? 8192 : 2048); }

/// Begins add_dropout() in `stream`. The sums have the bits of the CPU. A count that is a multiple of 4 is fastest.
template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p, device::Stream stream);

/// Begins add_norm_forward() in `stream`. p.size satisfies can_add_norm(), and a multiple of 4 is fastest. p.sum has
/// the bits of the CPU; the order of the sums of a row depends on p.size alone.
template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p, device::Stream stream);

/// The rows whose gradients of gain and bias a block sums. A second kernel sums the blocks. The division depends on the
/// number of rows alone, so that results do not depend on the device.
struct AddNormParts {
  static constexpr std::int64_t kMaxParts = 264;  // two blocks for each multiprocessor of an H100
  static constexpr std::int64_t kMinRows = 8;

  explicit constexpr AddNormParts(std::int64_t num_rows)
      : rows_of_part((std::max<std::int64_t>((num_rows + kMaxParts - 1) / kMaxParts, 1) + kMinRows - 1) / kMinRows *
                     kMinRows),
        num_parts((num_rows + rows_of_part - 1) / rows_of_part) {}

  std::int64_t rows_of_part;
  std::int64_t num_parts;
};

/// Returns the number of floats of the workspace of add_norm_backward().
constexpr std::int64_t add_norm_backward_workspace(std::int64_t num_rows, std::int64_t size) {
  return AddNormParts(num_rows).num_parts * 2 * size;
}

/// Begins add_norm_backward() in `stream`. p.size satisfies can_add_norm(), and a multiple of 4 is fastest. `workspace`
/// has add_norm_backward_workspace() floats of the device, whose content is undefined before and afterwards.
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p, float* workspace, device::Stream stream);

}  // namespace edgewise::kernels
