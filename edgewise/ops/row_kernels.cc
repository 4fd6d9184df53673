// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/row_kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <numeric>
#include <vector>

#include "edgewise/kernels/rows/rows.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/ops/index_tensor.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> shape_with_rows(const at::Tensor& tensor, std::int64_t num_rows) {
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  shape.front() = num_rows;
  return shape;
}

/// Calls kernel(arguments, stream) with the arguments of a copy of indexed rows.
template <class Kernel>
void copy_rows(const at::Tensor& from, std::span<const NodeIndex> rows, const at::Tensor& to, Kernel kernel) {
  if (rows.empty()) return;
  const at::Tensor aligned = aligned_contiguous(from);
  const KernelRows<NodeIndex> device_rows(rows, from);
  with_float_or_bf16(from.scalar_type(), [&]<typename T>(T) {
    const kernels::IndexedRows<T> arguments = {.from = data_or_null<T>(aligned),
                                               .rows = device_rows.data(),
                                               .to = data_or_null<T>(to),
                                               .num_rows = std::ssize(rows),
                                               .size = to.numel() / to.size(0)};
    call_gpu_kernel(from, [&](device::Stream stream) { kernel(arguments, stream); });
  });
}

/// The numbers of elements with equal rows, as a relation from elements to rows.
struct ElementsOfRows {
  std::vector<EdgeIndex> begin;     // [N + 1]
  std::vector<NodeIndex> elements;  // [A], ascending for each row
};

ElementsOfRows elements_of_rows(std::span<const NodeIndex> rows, std::int64_t num_rows) {
  ElementsOfRows result = {.begin = std::vector<EdgeIndex>(static_cast<std::size_t>(num_rows) + 1),
                           .elements = std::vector<NodeIndex>(rows.size())};
  for (const NodeIndex row : rows) ++result.begin[static_cast<std::size_t>(row) + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  std::vector<EdgeIndex> next = result.begin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EdgeIndex edge = next[static_cast<std::size_t>(rows[i])]++;
    result.elements[static_cast<std::size_t>(edge)] = static_cast<NodeIndex>(i);
  }
  return result;
}

}  // namespace

at::Tensor gather_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows) {
  at::Tensor to = at::empty(shape_with_rows(from, std::ssize(rows)), from.options());
  copy_rows(from, rows, to, [](const auto& arguments, auto stream) { kernels::gather_rows(arguments, stream); });
  return to;
}

at::Tensor place_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows, std::int64_t num_rows) {
  const std::vector<std::int64_t> shape = shape_with_rows(from, num_rows);
  const bool is_whole = std::ssize(rows) == num_rows;
  at::Tensor to = is_whole ? at::empty(shape, from.options()) : at::zeros(shape, from.options());
  copy_rows(from, rows, to, [](const auto& arguments, auto stream) { kernels::place_rows(arguments, stream); });
  return to;
}

at::Tensor sum_on_gpu(const at::Tensor& from_AM, std::span<const NodeIndex> rows, std::int64_t num_rows) {
  const at::Tensor aligned_AM = aligned_contiguous(from_AM);
  at::Tensor to_NM = at::empty({num_rows, from_AM.size(1)}, from_AM.options());
  const ElementsOfRows relation = elements_of_rows(rows, num_rows);
  const KernelRows<EdgeIndex> begin(relation.begin, from_AM);
  const KernelRows<NodeIndex> elements(relation.elements, from_AM);
  const RelationView view = {.num_sources = std::ssize(rows),
                             .num_destinations = num_rows,
                             .row_begin = begin.data(),
                             .intervals = nullptr,
                             .sources = elements.data()};
  with_float_or_bf16(from_AM.scalar_type(), [&]<typename T>(T) {
    const kernels::SumRows<T> arguments = {
        .from = data_or_null<T>(aligned_AM), .to = data_or_null<T>(to_NM), .size = from_AM.size(1)};
    call_gpu_kernel(from_AM, [&](device::Stream stream) { kernels::sum_rows(arguments, view, stream); });
  });
  return to_NM;
}

}  // namespace edgewise
