// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/ssru.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/recurrence/ssru.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// Returns for each node whether the node before it is its source.
std::vector<std::uint8_t> find_continuing(const Relation& path) {
  std::vector<std::uint8_t> continues(static_cast<std::size_t>(path.num_destinations()));
  for_each_edge(path.view(), [&](NodeIndex source, NodeIndex node, EdgeIndex) {
    check(source == node || source == node - 1, "ssru: node {} has source {}, needs itself and the node before it",
          node, source);
    if (source != node) continues[static_cast<std::size_t>(node)] = 1;
  });
  return continues;
}

void check_recurrence(const Relation& path, const at::Tensor& forget_NM, const at::Tensor& input_NM) {
  check_floating_point("ssru", "forget", forget_NM);
  check_same_type("ssru", "input", input_NM, "forget", forget_NM);
  check_dimensions("ssru", "forget", forget_NM, 2, "nodes, size");
  check(input_NM.sizes() == forget_NM.sizes(), "ssru: input is {}, needs {} as forget", shape_text(input_NM),
        shape_text(forget_NM));
  check(path.num_sources() == path.num_destinations(), "ssru: path has {} sources, needs as many as destinations, {}",
        path.num_sources(), path.num_destinations());
  check_rows("ssru", "forget", forget_NM, path.num_destinations(), "destination");
}

/// Inputs: forget_NM, input_NM.
class RunSsru : public Operation {
 public:
  explicit RunSsru(std::vector<std::uint8_t> continues) : continues_(std::move(continues)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("ssru");
    const at::Tensor forget_NM = inputs[0].contiguous();
    const at::Tensor input_NM = inputs[1].contiguous();
    const at::Tensor state_NM = at::empty(forget_NM.sizes(), forget_NM.options().dtype(parameter_type(forget_NM)));
    at::Tensor out_NM = at::empty_like(forget_NM);
    with_floating_point(forget_NM, [&](auto zero) {
      using T = decltype(zero);
      using State = kernels::AccumulatorType<T>;
      const std::int64_t size = forget_NM.size(1);
      std::vector<State*> states(continues_.size());
      std::vector<const State*> before(continues_.size());
      for (std::size_t row = 0; row < states.size(); ++row) {
        states[row] = data_or_null<State>(state_NM) + static_cast<std::int64_t>(row) * size;
        if (continues_[row] != 0) before[row] = states[row] - size;
      }
      kernels::ssru(kernels::SsruRows<T>{.rows = forget_NM.size(0),
                                         .columns = size,
                                         .stride = size,
                                         .forget = data_or_null<T>(forget_NM),
                                         .input = data_or_null<T>(input_NM),
                                         .before = before.data(),
                                         .state = states.data(),
                                         .out = data_or_null<T>(out_NM)});
    });
    saved = {forget_NM, input_NM, state_NM};
    return {out_NM};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("ssru");
    const ScopedTimer timer("ssru backward");
    const at::Tensor& forget_NM = pass.saved[0];
    const at::Tensor grad_out_NM = pass.grad_outputs[0].contiguous();
    at::Tensor grad_forget_NM = at::empty_like(forget_NM);
    at::Tensor grad_input_NM = at::empty_like(forget_NM);
    with_floating_point(forget_NM, [&](auto zero) {
      using T = decltype(zero);
      kernels::ssru_gradient(kernels::SsruGradient<T>{.rows = forget_NM.size(0),
                                                      .columns = forget_NM.size(1),
                                                      .forget = data_or_null<T>(forget_NM),
                                                      .input = data_or_null<T>(pass.saved[1]),
                                                      .state = data_or_null<kernels::AccumulatorType<T>>(pass.saved[2]),
                                                      .continues = continues_.data(),
                                                      .grad_out = data_or_null<T>(grad_out_NM),
                                                      .grad_forget = data_or_null<T>(grad_forget_NM),
                                                      .grad_input = data_or_null<T>(grad_input_NM)});
    });
    return {grad_forget_NM, grad_input_NM};
  }

 private:
  std::vector<std::uint8_t> continues_;
};

/// Returns the nodes with 0, 1, … nodes before them on their path.
std::vector<std::vector<std::int64_t>> nodes_by_step(std::span<const std::uint8_t> continues) {
  std::vector<std::vector<std::int64_t>> steps(1);
  std::size_t step = 0;
  for (std::size_t node = 0; node < continues.size(); ++node) {
    step = continues[node] != 0 ? step + 1 : 0;
    if (step == steps.size()) steps.emplace_back();
    steps[step].push_back(static_cast<std::int64_t>(node));
  }
  return steps;
}

}  // namespace

at::Tensor ssru(const Relation& path, const at::Tensor& forget_NM, const at::Tensor& input_NM) {
  check_recurrence(path, forget_NM, input_NM);
  if (backend_of(forget_NM, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    return ssru_plain(path, forget_NM, input_NM);
  }
  return apply_one<RunSsru>({forget_NM, input_NM}, find_continuing(path));
}

at::Tensor ssru_plain(const Relation& path, const at::Tensor& forget_NM, const at::Tensor& input_NM) {
  check_recurrence(path, forget_NM, input_NM);
  const std::vector<std::vector<std::int64_t>> steps = nodes_by_step(find_continuing(path));
  const at::ScalarType type = parameter_type(input_NM);
  const at::Tensor gate_NM = forget_NM.to(type).sigmoid();
  const at::Tensor new_NM = (1 - gate_NM) * input_NM.to(type);
  const auto indices = [&](const std::vector<std::int64_t>& numbers) {
    return index_tensor(std::span<const std::int64_t>(numbers), input_NM.device());
  };
  // Row i of `states`, the results of all steps so far, is node order[i]; place is its inverse.
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> place(static_cast<std::size_t>(input_NM.size(0)));
  std::vector<at::Tensor> states;
  for (const std::vector<std::int64_t>& nodes : steps) {
    const at::Tensor rows = indices(nodes);
    at::Tensor state = new_NM.index_select(0, rows);
    if (!states.empty()) {
      const std::int64_t begin = std::ssize(order) - states.back().size(0);
      std::vector<std::int64_t> before;
      before.reserve(nodes.size());
      for (const std::int64_t node : nodes) before.push_back(place[static_cast<std::size_t>(node - 1)] - begin);
      state = state + gate_NM.index_select(0, rows) * states.back().index_select(0, indices(before));
    }
    for (const std::int64_t node : nodes) {
      place[static_cast<std::size_t>(node)] = std::ssize(order);
      order.push_back(node);
    }
    states.push_back(state);
  }
  return at::cat(states, 0).index_select(0, indices(place)).relu().to(input_NM.scalar_type());
}

}  // namespace edgewise
