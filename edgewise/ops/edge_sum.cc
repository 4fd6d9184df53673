// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_sum.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/edge_messages.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> result_shape(const Relation& relation, const EdgeSum& sum) {
  std::vector<std::int64_t> shape = sum.row_shape;
  shape.insert(shape.begin(), count_rows(relation, sum.rows_of, sum.numbers));
  return shape;
}

/// Returns the size of dimension `i` from the last; 1 where `sizes` has no such dimension.
std::int64_t size_from_end(at::IntArrayRef sizes, std::size_t i) {
  return i < sizes.size() ? sizes[sizes.size() - 1 - i] : 1;
}

/// Inputs: the left and right rows of each sum, in turns; right is undefined with kCopy. The sums' own tensors of rows
/// are undefined.
class ComputeSums : public Operation {
 public:
  ComputeSums(const Relation& relation, std::vector<EdgeSum> sums) : relation_(relation), sums_(std::move(sums)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("messages");
    saved = inputs;
    Tensors outputs;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::vector<std::int64_t> shape = result_shape(relation_, sums_[i]);
      const bool has_other_edges = sums_[i].numbers.numbers.defined() && shape.front() != relation_.num_edges();
      const at::TensorOptions options = inputs[2 * i].options();
      outputs.push_back(has_other_edges ? at::zeros(shape, options) : at::empty(shape, options));
    }
    std::vector<bool> is_computed(sums_.size(), false);
    for (std::size_t first = 0; first < sums_.size(); ++first) {
      std::vector<std::size_t> together;
      for (std::size_t i = first; i < sums_.size(); ++i) {
        const bool fits =
            sums_[i].rows_of == sums_[first].rows_of && outputs[i].scalar_type() == outputs[first].scalar_type();
        if (!fits || is_computed[i]) continue;
        is_computed[i] = true;
        together.push_back(i);
      }
      with_floating_point(outputs[first], [&](auto zero) { compute<decltype(zero)>(together, inputs, outputs); });
    }
    return outputs;
  }

  Tensors backward(const BackwardPass& pass) override {
    std::vector<EdgeSum> gradients;
    std::vector<std::size_t> input_of_gradient;
    for (std::size_t input = 0; input < pass.needs_gradient.size(); ++input) {
      const at::Tensor& grad_out = pass.grad_outputs[input / 2];
      if (!pass.needs_gradient[input] || !grad_out.defined()) continue;
      gradients.push_back(gradient_of(input, grad_out, pass.saved));
      input_of_gradient.push_back(input);
    }
    const Tensors computed = edge_sums(relation_, gradients);
    Tensors result(pass.needs_gradient.size());
    for (std::size_t i = 0; i < computed.size(); ++i) {
      const std::size_t input = input_of_gradient[i];
      const MessageOperator op = sums_[input / 2].message.op;
      const bool is_right = input % 2 == 1;
      const at::Tensor& rows = pass.saved[input];
      at::Tensor& gradient = result[input] = computed[i];
      if (is_right && op == MessageOperator::kSubtract) gradient = -gradient;
      const std::int64_t repeats = repeats_in_sum(sums_[input / 2], pass.saved, input);
      if (repeats != 1) gradient = gradient * repeats;
      // The gradient of left / right is -left / right², in which right is the same for all edges of its row.
      if (is_right && op == MessageOperator::kDivide) gradient = -gradient / (rows * rows);
    }
    return result;
  }

  bool takes_undefined_gradients() const override { return true; }

 private:
  /// Computes sums of one kind of rows and of type T.
  template <typename T>
  void compute(const std::vector<std::size_t>& together, const Tensors& inputs, const Tensors& outputs) const {
    if (together.empty()) return;
    const RowsOf rows_of = sums_[together.front()].rows_of;
    const kernels::EdgeRows rows = edge_rows(relation_, rows_of);
    std::vector<std::unique_ptr<KernelMessage<T>>> messages;
    std::vector<kernels::SumEdges<T>> sums;
    for (const std::size_t i : together) {
      EdgeMessage message = sums_[i].message;
      message.left.rows = inputs[2 * i];
      message.right.rows = inputs[2 * i + 1];
      messages.push_back(std::make_unique<KernelMessage<T>>(message, sums_[i].row_shape, rows_of));
      sums.push_back({messages.back()->arguments(), data_or_null<T>(outputs[i])});
    }
    if (rows_of != RowsOf::kEdges) return kernels::sum_edges(std::span<const kernels::SumEdges<T>>(sums), rows);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const at::Tensor& numbers = sums_[together[k]].numbers.numbers;
      kernels::write_edges(kernels::WriteEdges<T>{sums[k].message, sums[k].out, numbers_data(numbers)}, rows);
    }
  }

  /// Returns the sum that is the gradient of an input, or from which backward() computes this gradient.
  EdgeSum gradient_of(std::size_t input, const at::Tensor& grad_out, const Tensors& saved) const {
    const EdgeSum& sum = sums_[input / 2];
    const EdgeMessage& message = sum.message;
    const bool is_right = input % 2 == 1;
    const MessageOperand& operand = is_right ? message.right : message.left;
    EdgeSum gradient = {.message = {MessageOperator::kCopy, {grad_out, sum.rows_of, sum.numbers.numbers}},
                        .rows_of = operand.rows_of,
                        .row_shape = saved[input].sizes().slice(1).vec()};
    if (message.op == MessageOperator::kMultiply || message.op == MessageOperator::kDivide) {
      gradient.message.op = is_right ? MessageOperator::kMultiply : message.op;
      gradient.message.right = is_right ? message.left : message.right;
      gradient.message.right.rows = saved[is_right ? input - 1 : input + 1];
    }
    if (operand.numbers.defined()) gradient.numbers = {operand.numbers, saved[input].size(0)};
    return gradient;
  }

  /// Returns how often an element of the result has an element of an input as a term for one edge: a dimension that the
  /// result sums, and in which only the other operand has several elements, repeats the term.
  static std::int64_t repeats_in_sum(const EdgeSum& sum, const Tensors& inputs, std::size_t input) {
    const bool is_term = sum.message.op == MessageOperator::kAdd || sum.message.op == MessageOperator::kSubtract;
    if (!is_term) return 1;
    const at::IntArrayRef own = inputs[input].sizes().slice(1);
    const at::IntArrayRef other = inputs[input ^ 1].sizes().slice(1);
    std::int64_t repeats = 1;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const bool is_repeated = size_from_end(own, i) == 1 && size_from_end(sum.row_shape, i) == 1;
      if (is_repeated) repeats *= size_from_end(other, i);
    }
    return repeats;
  }

  Relation relation_;
  std::vector<EdgeSum> sums_;
};

void check_sum(const Relation& relation, const EdgeSum& sum) {
  check_message("edge_sum", relation, sum.message);
  const std::vector<std::int64_t> shape = message_shape("edge_sum", sum.message);
  for (std::size_t i = 0; i < std::max(shape.size(), sum.row_shape.size()); ++i) {
    const std::int64_t size = size_from_end(shape, i);
    const std::int64_t out = size_from_end(sum.row_shape, i);
    check(
        size == out || size == 1 || out == 1,
        "edge_sum: dimension {} from the last of row_shape is {}, but that of the messages is {}, needs one size or 1",
        i, out, size);
  }
}

}  // namespace

std::vector<at::Tensor> edge_sums(const Relation& relation, std::span<const EdgeSum> sums) {
  std::vector<at::Tensor> results(sums.size());
  std::vector<EdgeSum> computed;
  std::vector<std::size_t> index_of_computed;
  Tensors inputs;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    check_sum(relation, sums[i]);
    if (backend_of(sums[i].message.left.rows, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
      results[i] = edge_sum_plain(relation, sums[i]);
      continue;
    }
    EdgeSum& sum = computed.emplace_back(sums[i]);
    index_of_computed.push_back(i);
    inputs.push_back(std::exchange(sum.message.left.rows, {}));
    inputs.push_back(std::exchange(sum.message.right.rows, {}));
  }
  if (computed.empty()) return results;
  const Tensors outputs = apply_operation(std::make_unique<ComputeSums>(relation, std::move(computed)), inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) results[index_of_computed[k]] = outputs[k];
  return results;
}

at::Tensor edge_sum(const Relation& relation, const EdgeSum& sum) {
  return edge_sums(relation, std::span(&sum, 1)).front();
}

at::Tensor edge_sum_plain(const Relation& relation, const EdgeSum& sum) {
  at::Tensor messages_E = compute_messages_plain(relation, sum.message);
  const auto dimensions = static_cast<std::int64_t>(sum.row_shape.size());
  // Dimensions of the result that the messages do not have repeat the messages.
  while (messages_E.dim() < dimensions + 1) messages_E = messages_E.unsqueeze(1);
  std::vector<std::int64_t> shape = messages_E.sizes().vec();
  for (std::int64_t i = 0; i < dimensions; ++i) {
    auto& size = shape[shape.size() - 1 - static_cast<std::size_t>(i)];
    if (size == 1) size = sum.row_shape[static_cast<std::size_t>(dimensions - 1 - i)];
  }
  messages_E = messages_E.expand(shape);
  std::vector<std::int64_t> result_rows = sum.row_shape;
  result_rows.insert(result_rows.begin(), relation.num_edges());
  std::vector<std::int64_t> aligned(shape.size() - result_rows.size(), 1);
  aligned.insert(aligned.begin(), relation.num_edges());
  aligned.insert(aligned.end(), sum.row_shape.begin(), sum.row_shape.end());
  for (std::int64_t i = 1; i < messages_E.dim(); ++i) {
    if (aligned[static_cast<std::size_t>(i)] == 1) messages_E = messages_E.sum(i, /*keepdim=*/true);
  }
  messages_E = messages_E.reshape(result_rows);

  const at::ScalarType type = sum.message.left.rows.scalar_type();
  const at::Device device = messages_E.device();
  const std::vector<std::int64_t> result = result_shape(relation, sum);
  const at::Tensor zeros = at::zeros(result, messages_E.options());
  if (sum.rows_of == RowsOf::kEdges) {
    if (!sum.numbers.numbers.defined()) return messages_E.to(type);
    return zeros.index_copy(0, copy_to_device(sum.numbers.numbers, device), messages_E).to(type);
  }
  const EdgeIndexTensors& edges = edge_index_tensors(relation, device);
  const at::Tensor& row_E = sum.rows_of == RowsOf::kSources ? edges.source_E : edges.destination_E;
  return zeros.index_add(0, row_E, messages_E).to(type);
}

}  // namespace edgewise
