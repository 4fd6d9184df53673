// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/rows/rows.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// Least number of elements per thread: with fewer elements, starting a thread costs more than it saves.
constexpr std::int64_t kSmallestPart = 1 << 14;

template <class Fn>
void parallel_rows(std::int64_t count, std::int64_t row_size, Fn fn) {
  const std::int64_t grain = kSmallestPart / std::max<std::int64_t>(row_size, 1);
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

std::int64_t row_size(const at::Tensor& tensor) { return tensor.size(0) == 0 ? 0 : tensor.numel() / tensor.size(0); }

/// Pointers to the rows of several concatenated tensors.
class RowPointers {
 public:
  RowPointers() = default;
  explicit RowPointers(std::span<const at::Tensor> tensors) {
    for (const at::Tensor& tensor : tensors) append(tensor);
  }

  void append(const at::Tensor& tensor) {
    auto* data = static_cast<std::byte*>(tensor.data_ptr());
    const auto stride = static_cast<std::size_t>(row_size(tensor)) * tensor.element_size();
    for (std::int64_t i = 0; i < tensor.size(0); ++i) pointers_.push_back(data + static_cast<std::size_t>(i) * stride);
  }
  void append_null(std::int64_t count) { pointers_.resize(pointers_.size() + static_cast<std::size_t>(count)); }

  std::int64_t size() const { return std::ssize(pointers_); }
  std::byte* operator[](std::int64_t row) const { return pointers_[static_cast<std::size_t>(row)]; }

 private:
  std::vector<std::byte*> pointers_;
};

std::vector<std::int64_t> shape_with_rows(const at::Tensor& tensor, std::int64_t num_rows) {
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  shape.front() = num_rows;
  return shape;
}

/// Calls copy(row i of `tensor`, row order[i] of `others`, bytes of a row) for each i.
template <class Copy>
void for_row_pairs(const at::Tensor& tensor, std::span<const NodeIndex> order, const RowPointers& others, Copy copy) {
  const RowPointers rows(std::span(&tensor, 1));
  const std::size_t bytes = static_cast<std::size_t>(row_size(tensor)) * tensor.element_size();
  parallel_rows(rows.size(), row_size(tensor),
                [&](std::int64_t i) { copy(rows[i], others[order[static_cast<std::size_t>(i)]], bytes); });
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
    call_kernel(from, [&](device::Stream stream) { kernel(arguments, stream); });
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

/// Returns a tensor whose row i is row rows[i] of `from`.
at::Tensor gather_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows) {
  at::Tensor to = at::empty(shape_with_rows(from, std::ssize(rows)), from.options());
  copy_rows(from, rows, to, [](const auto& arguments, auto stream) { kernels::gather_rows(arguments, stream); });
  return to;
}

/// Returns a tensor of `num_rows` rows whose row rows[i] is row i of `from`; the others are zeros. `rows` are distinct.
at::Tensor place_on_gpu(const at::Tensor& from, std::span<const NodeIndex> rows, std::int64_t num_rows) {
  const std::vector<std::int64_t> shape = shape_with_rows(from, num_rows);
  const bool is_whole = std::ssize(rows) == num_rows;
  at::Tensor to = is_whole ? at::empty(shape, from.options()) : at::zeros(shape, from.options());
  copy_rows(from, rows, to, [](const auto& arguments, auto stream) { kernels::place_rows(arguments, stream); });
  return to;
}

/// Returns [num_rows, M]: row r is the sum of the rows i of `from_AM` with rows[i] = r, added in order.
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
    call_kernel(from_AM, [&](device::Stream stream) { kernels::sum_rows(arguments, view, stream); });
  });
  return to_NM;
}

class TakeRows : public Operation {
 public:
  explicit TakeRows(std::span<const NodeIndex> order) : order_(order.begin(), order.end()) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("rows");
    for (const at::Tensor& tensor : inputs) shapes_.push_back(tensor.sizes().vec());
    if (backend_of(inputs.front()) == Backend::kGpu) {
      return {gather_on_gpu(inputs.size() == 1 ? inputs.front() : at::cat(inputs), order_)};
    }
    Tensors whole;
    for (const at::Tensor& tensor : inputs) whole.push_back(tensor.contiguous());
    std::vector<std::int64_t> shape = shapes_.front();
    shape.front() = std::ssize(order_);
    at::Tensor result = at::empty(shape, inputs.front().options());
    for_row_pairs(result, order_, RowPointers(whole),
                  [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
    return {result};
  }

  Tensors backward(const BackwardPass& pass) override {
    if (c10::GradMode::is_enabled()) return differentiable_gradients(pass.grad_outputs[0]);
    const ScopedTimer timer("rows");
    if (backend_of(pass.grad_outputs[0]) == Backend::kGpu) {
      std::vector<std::int64_t> sizes;
      for (const auto& shape : shapes_) sizes.push_back(shape.front());
      return place_on_gpu(pass.grad_outputs[0], order_, num_rows()).split_with_sizes(sizes);
    }
    const at::Tensor gradient = pass.grad_outputs[0].contiguous();
    const bool is_whole = num_rows() == std::ssize(order_);
    Tensors gradients(shapes_.size());
    RowPointers rows;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (!pass.needs_gradient[i]) {
        rows.append_null(shapes_[i].front());
        continue;
      }
      gradients[i] = is_whole ? at::empty(shapes_[i], gradient.options()) : at::zeros(shapes_[i], gradient.options());
      rows.append(gradients[i]);
    }
    for_row_pairs(gradient, order_, rows, [](const std::byte* from, std::byte* to, std::size_t bytes) {
      if (to != nullptr) std::memcpy(to, from, bytes);
    });
    return gradients;
  }

 private:
  /// Takes the rows of the gradients from that of the result, and from zeros.
  Tensors differentiable_gradients(const at::Tensor& gradient) const {
    std::vector<NodeIndex> place(static_cast<std::size_t>(num_rows()), -1);
    for (std::size_t i = 0; i < order_.size(); ++i)
      place[static_cast<std::size_t>(order_[i])] = static_cast<NodeIndex>(i);
    Tensors gradients;
    std::int64_t begin = 0;
    for (const auto& shape : shapes_) {
      std::vector<NodeIndex> order;
      for (std::int64_t i = 0; i < shape.front(); ++i) {
        const NodeIndex taken = place[static_cast<std::size_t>(begin + i)];
        order.push_back(taken >= 0 ? taken : static_cast<NodeIndex>(gradient.size(0) + i));
      }
      gradients.push_back(take_rows(Tensors{gradient, at::zeros(shape, gradient.options())}, order));
      begin += shape.front();
    }
    return gradients;
  }

  std::int64_t num_rows() const {
    std::int64_t count = 0;
    for (const auto& shape : shapes_) count += shape.front();
    return count;
  }

  std::vector<NodeIndex> order_;
  std::vector<std::vector<std::int64_t>> shapes_;  // shapes of the input tensors
};

void check_tensors(std::span<const at::Tensor> from) {
  check(!from.empty(), "take_rows: there are no tensors, needs at least one");
  for (const at::Tensor& tensor : from) {
    check_floating_point("take_rows", "a tensor", tensor);
    check(tensor.dim() >= 1 && tensor.sizes().slice(1) == from.front().sizes().slice(1),
          "take_rows: tensors have shapes {} and {}, needs rows of one shape", shape_text(from.front()),
          shape_text(tensor));
    check_same_type("take_rows", "a tensor", tensor, "the first", from.front());
  }
}

void check_order(std::span<const at::Tensor> from, std::span<const NodeIndex> order) {
  std::int64_t rows = 0;
  for (const at::Tensor& tensor : from) rows += tensor.size(0);
  std::vector<bool> is_taken(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < order.size(); ++i) {
    check(order[i] >= 0 && order[i] < rows, "take_rows: order {} is {}, needs a number from 0 to {}", i, order[i],
          rows - 1);
    const auto row = static_cast<std::size_t>(order[i]);
    check(!is_taken[row], "take_rows: order {} is {} again, needs each number once", i, order[i]);
    is_taken[row] = true;
  }
}

/// Inputs: states and weights of each part, alternating.
class SumWeighted : public Operation {
 public:
  SumWeighted(std::int64_t num_rows, std::vector<std::vector<NodeIndex>> part_rows)
      : num_rows_(num_rows), part_rows_(std::move(part_rows)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("weighted sums");
    const at::Tensor& first = inputs.front();
    for (const at::Tensor& input : inputs) saved.push_back(input.contiguous());
    if (backend_of(first) == Backend::kGpu) return {sum_on_gpu(weighted_states(saved), all_rows(), num_rows_)};
    at::Tensor result_NM = at::zeros({num_rows_, first.size(1)}, first.options());
    with_float_or_double(first, [&]<typename T>(T) {
      for (std::size_t i = 0; i < part_rows_.size(); ++i) {
        add<T>(saved[2 * i], saved[2 * i + 1], part_rows_[i], result_NM);
      }
    });
    return {result_NM};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("sum_weighted");
    const ScopedTimer timer("weighted sums");
    if (backend_of(pass.grad_outputs[0]) == Backend::kGpu) return differentiate_on_gpu(pass);
    const at::Tensor gradient_NM = pass.grad_outputs[0].contiguous();
    Tensors gradients;
    for (const at::Tensor& input : pass.saved) gradients.push_back(at::empty_like(input));
    with_float_or_double(gradient_NM, [&]<typename T>(T) {
      for (std::size_t i = 0; i < part_rows_.size(); ++i) {
        differentiate<T>(pass.saved[2 * i], pass.saved[2 * i + 1], part_rows_[i], gradient_NM, gradients[2 * i],
                         gradients[2 * i + 1]);
      }
    });
    return gradients;
  }

 private:
  template <typename T>
  static void add(const at::Tensor& state_AM, const at::Tensor& weight_A, const std::vector<NodeIndex>& rows,
                  const at::Tensor& result_NM) {
    const std::int64_t size = state_AM.size(1);
    const T* states = state_AM.const_data_ptr<T>();
    const T* weights = weight_A.const_data_ptr<T>();
    T* results = result_NM.mutable_data_ptr<T>();
    parallel_rows(std::ssize(rows), size, [&](std::int64_t i) {
      const T weight = weights[i];
      const T* state = states + i * size;
      T* result = results + rows[static_cast<std::size_t>(i)] * size;
      for (std::int64_t m = 0; m < size; ++m) result[m] += weight * state[m];
    });
  }

  template <typename T>
  static void differentiate(const at::Tensor& state_AM, const at::Tensor& weight_A, const std::vector<NodeIndex>& rows,
                            const at::Tensor& gradient_NM, const at::Tensor& grad_state_AM,
                            const at::Tensor& grad_weight_A) {
    const std::int64_t size = state_AM.size(1);
    const T* states = state_AM.const_data_ptr<T>();
    const T* weights = weight_A.const_data_ptr<T>();
    const T* gradients = gradient_NM.const_data_ptr<T>();
    T* grad_states = grad_state_AM.mutable_data_ptr<T>();
    T* grad_weights = grad_weight_A.mutable_data_ptr<T>();
    parallel_rows(std::ssize(rows), size, [&](std::int64_t i) {
      const T* gradient = gradients + rows[static_cast<std::size_t>(i)] * size;
      T product = 0;
      for (std::int64_t m = 0; m < size; ++m) {
        grad_states[i * size + m] = weights[i] * gradient[m];
        product += gradient[m] * states[i * size + m];
      }
      grad_weights[i] = product;
    });
  }

  /// Returns the rows of all parts, one part after the other.
  std::vector<NodeIndex> all_rows() const {
    std::vector<NodeIndex> all;
    for (const auto& rows : part_rows_) all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }

  /// Returns weight · state of all parts, in the order of all_rows().
  static at::Tensor weighted_states(const Tensors& inputs) {
    Tensors weighted;
    for (std::size_t i = 0; i < inputs.size(); i += 2) weighted.push_back(inputs[i] * inputs[i + 1].unsqueeze(1));
    return weighted.size() == 1 ? weighted.front() : at::cat(weighted);
  }

  Tensors differentiate_on_gpu(const BackwardPass& pass) const {
    const at::Tensor gradient_AM = gather_on_gpu(pass.grad_outputs[0], all_rows());
    Tensors gradients;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < pass.saved.size(); i += 2) {
      const at::Tensor& state_AM = pass.saved[i];
      const at::Tensor gradient_of_part_AM = gradient_AM.narrow(0, begin, state_AM.size(0));
      begin += state_AM.size(0);
      gradients.push_back(gradient_of_part_AM * pass.saved[i + 1].unsqueeze(1));
      gradients.push_back((gradient_of_part_AM * state_AM).sum(1));
    }
    return gradients;
  }

  std::int64_t num_rows_;
  std::vector<std::vector<NodeIndex>> part_rows_;
};

void check_part(std::int64_t num_rows, const WeightedRows& part, const WeightedRows& first) {
  check_float_or_double("sum_weighted", "state", part.state_AM);
  check_dimensions("sum_weighted", "state", part.state_AM, 2, "rows, size");
  check_same_type("sum_weighted", "state", part.state_AM, "that of the first part", first.state_AM);
  check_same_type("sum_weighted", "weight", part.weight_A, "state", part.state_AM);
  const std::int64_t count = std::ssize(part.rows);
  check(part.state_AM.size(0) == count && part.weight_A.dim() == 1 && part.weight_A.size(0) == count &&
            part.state_AM.size(1) == first.state_AM.size(1),
        "sum_weighted: state has shape {} and weight {} for {} rows of size {}, needs one each",
        shape_text(part.state_AM), shape_text(part.weight_A), count, first.state_AM.size(1));
  for (std::size_t i = 0; i < part.rows.size(); ++i) {
    const NodeIndex least = i == 0 ? 0 : part.rows[i - 1] + 1;
    check(part.rows[i] >= least && part.rows[i] < num_rows,
          "sum_weighted: row {} is {}, needs ascending numbers below {}", i, part.rows[i], num_rows);
  }
}

}  // namespace

at::Tensor take_rows(std::span<const at::Tensor> from, std::span<const NodeIndex> order) {
  check_tensors(from);
  check_order(from, order);
  if (backend_of(from.front()) == Backend::kDefinition) return take_rows_plain(from, order);
  return apply_one<TakeRows>({from.begin(), from.end()}, order);
}

at::Tensor take_rows(const at::Tensor& from, std::span<const NodeIndex> order) {
  return take_rows(std::span(&from, 1), order);
}

at::Tensor sum_weighted(std::int64_t num_rows, std::span<const WeightedRows> parts) {
  check(!parts.empty(), "sum_weighted: there are no parts, needs at least one");
  Tensors inputs;
  std::vector<std::vector<NodeIndex>> part_rows;
  for (const WeightedRows& part : parts) {
    check_part(num_rows, part, parts.front());
    inputs.push_back(part.state_AM);
    inputs.push_back(part.weight_A);
    part_rows.push_back(part.rows);
  }
  if (backend_of(inputs.front()) == Backend::kDefinition) return sum_weighted_plain(num_rows, parts);
  return apply_one<SumWeighted>(inputs, num_rows, std::move(part_rows));
}

at::Tensor take_rows_plain(std::span<const at::Tensor> from, std::span<const NodeIndex> order) {
  return at::cat({from.data(), from.size()}).index_select(0, index_tensor(order, from.front().device()));
}

at::Tensor sum_weighted_plain(std::int64_t num_rows, std::span<const WeightedRows> parts) {
  const at::Tensor& first_AM = parts.front().state_AM;
  at::Tensor sum_NM = at::zeros({num_rows, first_AM.size(1)}, first_AM.options());
  for (const WeightedRows& part : parts) {
    const at::Tensor rows_A = index_tensor(std::span<const NodeIndex>(part.rows), first_AM.device());
    sum_NM = sum_NM.index_add(0, rows_A, part.state_AM * part.weight_A.unsqueeze(1));
  }
  return sum_NM;
}

}  // namespace edgewise
