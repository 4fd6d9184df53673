// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_index.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/device_relation.h"
#include "edgewise/ops/edge_softmax.h"

namespace edgewise {

EdgeIndexTensors::EdgeIndexTensors(const RelationView& relation, at::Device device) {
  const at::Tensor host_source_E = at::empty({relation.num_edges()}, at::kLong);
  const at::Tensor host_destination_E = at::empty({relation.num_edges()}, at::kLong);
  auto* const sources = host_source_E.mutable_data_ptr<std::int64_t>();
  auto* const destinations = host_destination_E.mutable_data_ptr<std::int64_t>();
  for_each_edge(relation, [&](NodeIndex source, NodeIndex destination, EdgeIndex edge) {
    sources[edge] = source;
    destinations[edge] = destination;
  });
  source_E = copy_to_device(host_source_E, device);
  destination_E = copy_to_device(host_destination_E, device);
}

const EdgeIndexTensors& edge_index_tensors(const Relation& relation, at::Device device) {
  return derive_on<EdgeIndexTensors>(relation, device);
}

at::Tensor softmax_over_rows(const EdgeIndexTensors& edges, std::int64_t num_destinations, const at::Tensor& score_EH) {
  const at::Tensor row_EH = edges.destination_E.unsqueeze(1).expand_as(score_EH);
  constexpr double kNoScore = -std::numeric_limits<double>::infinity();
  at::Tensor maximum_DH = at::full({num_destinations, score_EH.size(1)}, kNoScore, score_EH.options())
                              .scatter_reduce(0, row_EH, score_EH.detach(), "amax");
  maximum_DH = maximum_DH.masked_fill(maximum_DH == kNoScore, 0);

  const at::Tensor exp_EH = (score_EH - maximum_DH.index_select(0, edges.destination_E)).exp();
  const at::Tensor total_DH =
      at::zeros(maximum_DH.sizes(), score_EH.options()).index_add(0, edges.destination_E, exp_EH);
  return exp_EH / total_DH.masked_fill(total_DH == 0, 1).index_select(0, edges.destination_E);
}

at::Tensor sum_messages(const EdgeIndexTensors& edges, std::int64_t num_destinations, const at::Tensor& weight_EH,
                        const at::Tensor& value_SHV) {
  const at::Tensor value_EHV = value_SHV.to(weight_EH.scalar_type()).index_select(0, edges.source_E);
  const at::Tensor message_EHV = weight_EH.unsqueeze(-1) * value_EHV;
  return at::zeros({num_destinations, value_SHV.size(1), value_SHV.size(2)}, message_EHV.options())
      .index_add(0, edges.destination_E, message_EHV)
      .to(value_SHV.scalar_type());
}

at::Tensor edge_softmax_plain(const Relation& relation, const at::Tensor& score_EH) {
  const EdgeIndexTensors& edges = edge_index_tensors(relation, score_EH.device());
  const at::Tensor score_of_heads_EH = score_EH.dim() == 1 ? score_EH.unsqueeze(1) : score_EH.flatten(1);
  return softmax_over_rows(edges, relation.num_destinations(), score_of_heads_EH).view(score_EH.sizes());
}

at::Tensor aggregate_plain(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV) {
  return sum_messages(edge_index_tensors(relation, value_SHV.device()), relation.num_destinations(), weight_EH,
                      value_SHV);
}

}  // namespace edgewise
