// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/ssru.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <span>
#include <vector>

#include "edgewise/ops/ssru.h"

namespace edgewise {

Ssru::Ssru(std::int64_t size, RandomStream& random)
    : forget(size, size, Bias::kZero, random), input(size, size, Bias::kNone, random) {}

at::Tensor Ssru::operator()(const Relation& path, const at::Tensor& x_NM) const {
  const LinearWeights layers[] = {forget.weights(), input.weights()};
  const std::vector<at::Tensor> results = linear_group(input.operand(x_NM), layers);
  return ssru(path, results[0], results[1]);
}

Columns Ssru::project(const at::Tensor& x_NM) const {
  const at::Tensor gate_NM = forget(x_NM).sigmoid();
  return {{"gate", gate_NM}, {"cell", (1 - gate_NM) * input(x_NM)}};
}

void propagate_cells(MessageGraph& graph, const at::Tensor& edges) {
  const at::Tensor numbers = edges.contiguous();
  const std::span<const EdgeIndex> all(numbers.const_data_ptr<std::int64_t>(),
                                       static_cast<std::size_t>(numbers.numel()));
  const EdgeList ends = graph.graph().find_edges(all);
  // The edges by the length of the path that ends with them. Those into a node come before those from it.
  std::vector<std::size_t> length_to(static_cast<std::size_t>(graph.graph().num_nodes()));
  std::vector<std::vector<EdgeIndex>> steps;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (ends.sources[i] == ends.destinations[i]) continue;
    const std::size_t step = length_to[static_cast<std::size_t>(ends.sources[i])];
    length_to[static_cast<std::size_t>(ends.destinations[i])] = step + 1;
    if (step == steps.size()) steps.emplace_back();
    steps[step].push_back(all[i]);
  }
  const auto add = [](const NodeBatch& batch) {
    return Columns{{"cell", batch.data("cell") + batch.data("gate") * batch.data("before")}};
  };
  for (const std::vector<EdgeIndex>& step : steps) {
    graph.send_and_recv(at::tensor(step), {copy_u("cell", "cell")}, {sum("cell", "before")}, add);
  }
}

}  // namespace edgewise
