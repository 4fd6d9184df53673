// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/edge_messages.h"
#include "edgewise/ops/edge_sum.h"
#include "edgewise/ops/operation.h"

// Shape letters: D = destinations, M = elements of a message.
namespace edgewise {
namespace {

/// Returns for each element of a message the element of an operand's row that it reads, int64 [M].
at::Tensor operand_elements(const kernels::RowBroadcast& broadcast, bool is_right) {
  at::Tensor elements = at::empty({broadcast.size}, at::kLong);
  auto* to = elements.data_ptr<std::int64_t>();
  const bool steps = is_right ? broadcast.right_steps : broadcast.left_steps;
  for (const kernels::RowBroadcast::Run& run : broadcast.runs) {
    const std::int64_t first = is_right ? run.right : run.left;
    for (std::int64_t i = 0; i < broadcast.run_length; ++i) *to++ = first + (steps ? i : 0);
  }
  return elements;
}

/// The elements of an operand that the extrema come from: one for each element of the result, counted over all rows.
class ExtremumSource {
 public:
  ExtremumSource(const Relation& relation, const MessageOperand& operand, const kernels::RowBroadcast& broadcast,
                 bool is_right, const at::Tensor& entry_DM) {
    const EdgeIndexTensors& edges = edge_index_tensors(relation, at::kCPU);
    const at::Tensor row_begin_D = at::empty({relation.num_destinations(), 1}, at::kLong);
    std::copy_n(relation.row_begin().data(), relation.num_destinations(), row_begin_D.data_ptr<std::int64_t>());
    at::Tensor row_DM = row_begin_D + entry_DM.clamp_min(0);
    if (operand.rows_of == RowsOf::kDestinations) {
      row_DM = at::arange(relation.num_destinations(), at::kLong).unsqueeze(1).expand_as(entry_DM);
    } else if (operand.rows_of == RowsOf::kSources || operand.numbers.defined()) {
      const at::Tensor& row_of_edge = operand.numbers.defined() ? operand.numbers : edges.source_E;
      // A destination without edges has no entry; its row_begin may be the number of edges.
      row_DM = row_of_edge.index_select(0, row_DM.clamp_max(relation.num_edges() - 1).flatten()).view_as(entry_DM);
    } else {
      row_DM = row_DM.clamp_max(relation.num_edges() - 1);
    }
    const std::int64_t row_size = is_right ? broadcast.right_size : broadcast.left_size;
    element_ = (row_DM * row_size + operand_elements(broadcast, is_right)).flatten();
  }

  /// Returns the operand's elements, [D, M].
  at::Tensor gather(const at::Tensor& rows, const at::Tensor& entry_DM) const {
    return rows.reshape(-1).index_select(0, element_).view_as(entry_DM);
  }

  /// Adds the gradients to zeros of the operand's shape.
  at::Tensor scatter(const at::Tensor& grad_DM, const at::Tensor& rows) const {
    return at::zeros({rows.numel()}, rows.options()).index_add(0, element_, grad_DM.flatten()).view(rows.sizes());
  }

 private:
  at::Tensor element_;
};

/// Inputs: the left and right rows; right is undefined with kCopy. The message's own tensors of rows are undefined.
class ExtremumOperation : public Operation {
 public:
  ExtremumOperation(const Relation& relation, EdgeMessage message, std::vector<std::int64_t> row_shape,
                    ExtremumKind kind, bool needs_gradient)
      : relation_(relation),
        message_(std::move(message)),
        row_shape_(std::move(row_shape)),
        kind_(kind),
        needs_gradient_(needs_gradient) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("messages");
    std::vector<std::int64_t> shape = row_shape_;
    shape.insert(shape.begin(), relation_.num_destinations());
    at::Tensor out = at::empty(shape, inputs[0].options());
    at::Tensor entry_DM;
    with_floating_point(out, [&](auto zero) {
      using T = decltype(zero);
      const KernelMessage<T> message(with_rows(inputs), row_shape_, RowsOf::kDestinations);
      const std::int64_t size = message.arguments().broadcast->size;
      if (needs_gradient_) entry_DM = at::empty({relation_.num_destinations(), size}, at::kInt);
      kernels::find_extrema(
          kernels::FindExtrema<T>{message.arguments(), kind_ == ExtremumKind::kMaximum, data_or_null<T>(out),
                                  needs_gradient_ ? entry_DM.data_ptr<std::int32_t>() : nullptr},
          edge_rows(relation_, RowsOf::kDestinations));
    });
    saved = inputs;
    saved.push_back(entry_DM);
    return {out};
  }

  Tensors backward(const BackwardPass& pass) override {
    if (relation_.num_edges() == 0) return {zeros_or_undefined(pass, 0), zeros_or_undefined(pass, 1)};
    if (!c10::GradMode::is_enabled()) return run_backward_kernel(pass);
    const at::Tensor& left = pass.saved[0];
    const at::Tensor& right = pass.saved[1];
    const at::Tensor& entry_DM = pass.saved[2];
    const auto row = [](const at::Tensor& rows) {
      return rows.defined() ? rows.sizes().slice(1).vec() : std::vector<std::int64_t>();
    };
    const kernels::RowBroadcast broadcast = kernels::broadcast_rows(row(left), row(right), row_shape_);
    const at::Tensor grad_DM = pass.grad_outputs[0].reshape(entry_DM.sizes()).masked_fill(entry_DM < 0, 0);
    const ExtremumSource left_source(relation_, message_.left, broadcast, /*is_right=*/false, entry_DM);
    if (message_.op == MessageOperator::kCopy) return {left_source.scatter(grad_DM, left)};

    const ExtremumSource right_source(relation_, message_.right, broadcast, /*is_right=*/true, entry_DM);
    at::Tensor grad_left_DM = grad_DM;
    at::Tensor grad_right_DM = grad_DM;
    if (message_.op == MessageOperator::kSubtract) grad_right_DM = -grad_DM;
    if (message_.op == MessageOperator::kMultiply || message_.op == MessageOperator::kDivide) {
      const at::Tensor left_DM = left_source.gather(left, entry_DM);
      const at::Tensor right_DM = right_source.gather(right, entry_DM);
      const bool is_product = message_.op == MessageOperator::kMultiply;
      grad_left_DM = is_product ? grad_DM * right_DM : grad_DM / right_DM;
      grad_right_DM = is_product ? grad_DM * left_DM : -grad_DM * left_DM / (right_DM * right_DM);
    }
    return {pass.needs_gradient[0] ? left_source.scatter(grad_left_DM, left) : at::Tensor(),
            pass.needs_gradient[1] ? right_source.scatter(grad_right_DM, right) : at::Tensor()};
  }

 private:
  Tensors run_backward_kernel(const BackwardPass& pass) const {
    const EdgeMessage message = with_rows(pass.saved);
    const at::Tensor grad_out = pass.grad_outputs[0].contiguous();
    Tensors gradients(2);
    with_floating_point(grad_out, [&](auto zero) {
      using T = decltype(zero);
      using Number = kernels::AccumulatorType<T>;
      for (const std::size_t input : {0, 1}) {
        const at::Tensor& rows = pass.saved[input];
        if (!pass.needs_gradient[input]) continue;
        gradients[input] = at::zeros(rows.sizes(), rows.options().dtype(parameter_type(rows)));
      }
      const KernelMessage<T> kernel_message(message, row_shape_, RowsOf::kDestinations);
      kernels::differentiate_extrema(
          kernels::DifferentiateExtrema<T>{kernel_message.arguments(), pass.saved[2].const_data_ptr<std::int32_t>(),
                                           data_or_null<T>(grad_out), data_or_null<Number>(gradients[0]),
                                           data_or_null<Number>(gradients[1])},
          edge_rows(relation_, RowsOf::kDestinations));
    });
    for (at::Tensor& gradient : gradients) {
      if (gradient.defined()) gradient = gradient.to(grad_out.scalar_type());
    }
    return gradients;
  }

  EdgeMessage with_rows(const Tensors& inputs) const {
    EdgeMessage message = message_;
    message.left.rows = inputs[0];
    message.right.rows = inputs[1];
    return message;
  }

  static at::Tensor zeros_or_undefined(const BackwardPass& pass, std::size_t input) {
    return pass.needs_gradient[input] ? at::zeros(pass.saved[input].sizes(), pass.saved[input].options())
                                      : at::Tensor();
  }

  Relation relation_;
  EdgeMessage message_;
  std::vector<std::int64_t> row_shape_;
  ExtremumKind kind_;
  bool needs_gradient_;
};

bool needs_gradient(const at::Tensor& rows) {
  return c10::GradMode::is_enabled() && rows.defined() && rows.requires_grad();
}

}  // namespace

at::Tensor edge_extremum(const Relation& relation, const EdgeMessage& message, ExtremumKind kind) {
  check_message("edge_extremum", relation, message);
  if (backend_of(message.left.rows, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    return edge_extremum_plain(relation, message, kind);
  }
  EdgeMessage without_rows = message;
  const Tensors inputs = {std::exchange(without_rows.left.rows, {}), std::exchange(without_rows.right.rows, {})};
  return apply_one<ExtremumOperation>(inputs, relation, std::move(without_rows),
                                      message_shape("edge_extremum", message), kind,
                                      needs_gradient(inputs[0]) || needs_gradient(inputs[1]));
}

at::Tensor edge_extremum_plain(const Relation& relation, const EdgeMessage& message, ExtremumKind kind) {
  const at::Tensor messages_E = compute_messages_plain(relation, message);
  std::vector<std::int64_t> shape = messages_E.sizes().vec();
  shape.front() = relation.num_destinations();
  const std::int64_t num_edges = relation.num_edges();
  if (num_edges == 0) return messages_E.sum(0, /*keepdim=*/true).expand(shape).to(message.left.rows.scalar_type());

  const at::Device device = messages_E.device();
  const EdgeIndexTensors& edges = edge_index_tensors(relation, device);
  std::vector<std::int64_t> column(shape.size(), 1);
  column.front() = num_edges;
  const at::Tensor row_E = edges.destination_E.view(column).expand_as(messages_E);
  const at::Tensor values_E = messages_E.detach();
  const at::Tensor extremum = at::zeros(shape, values_E.options())
                                  .scatter_reduce(0, row_E, values_E, kind == ExtremumKind::kMaximum ? "amax" : "amin",
                                                  /*include_self=*/false);
  const at::Tensor has_extremum_E =
      (values_E == extremum.index_select(0, edges.destination_E)).logical_or(values_E.isnan());
  const at::Tensor number_E = at::arange(num_edges, edges.destination_E.options()).view(column);
  const at::Tensor edge =
      at::full(shape, num_edges, number_E.options())
          .scatter_reduce(0, row_E, number_E.expand_as(row_E).masked_fill(has_extremum_E.logical_not(), num_edges),
                          "amin");
  const at::Tensor is_missing = edge == num_edges;
  return messages_E.gather(0, edge.masked_fill(is_missing, 0))
      .masked_fill(is_missing, 0)
      .to(message.left.rows.scalar_type());
}

}  // namespace edgewise
