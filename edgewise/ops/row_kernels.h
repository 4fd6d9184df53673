// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/graph/relation_view.h"

// Copies and sums of rows by the kernels for GPUs, without autograd, for tensors where uses_gpu_kernels() is true. A
// row is an element of dimension 0. Row numbers are in range.
namespace edgewise {

/// Returns a tensor whose row i is row rows[i] of `from`.
at::Tensor gather_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows);

/// Returns a tensor of `num_rows` rows whose row rows[i] is row i of `from`; the others are zeros. `rows` are distinct.
at::Tensor place_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows, std::int64_t num_rows);

/// Returns [num_rows, M]: row r is the sum of the rows i of `from_AM` with rows[i] = r, added in order.
at::Tensor sum_on_gpu(const at::Tensor& from_AM, std::span<const NodeIndex> rows, std::int64_t num_rows);

}  // namespace edgewise
