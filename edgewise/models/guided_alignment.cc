// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/guided_alignment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>

#include "edgewise/base/error.h"
#include "edgewise/ops/device_copies.h"

namespace edgewise {

at::Tensor guided_alignment_loss(const at::Tensor& weight_EH, std::span<const LinkedEdge> linked_edges) {
  constexpr double kSmallWeight = 1e-6;
  std::vector<std::int64_t> edges;
  std::vector<double> shares;
  for (const auto& [edge, share] : linked_edges) {
    edges.push_back(edge);
    shares.push_back(share);
  }
  const at::Tensor edge_L = index_tensor(std::span<const std::int64_t>(edges), weight_EH.device());
  const at::Tensor share_L = copy_to_device(at::tensor(shares).to(weight_EH.scalar_type()), weight_EH.device());
  const at::Tensor weight_L = weight_EH.mean(1).index_select(0, edge_L);
  return -(share_L * (weight_L + kSmallWeight).log()).sum();
}

GuidedHeads::GuidedHeads(const GuidedAlignment& guided, const Batch& batch, std::int64_t num_layers)
    : guided_(guided),
      encoder_decoder_(&batch.graph.relation(kEncoderDecoder)),
      layers_before_(guided.layer < 0 ? num_layers - 1 : guided.layer),
      recorder_(
          [this](const Relation& relation, const AttentionRecorder::Weights& weights) { record(relation, weights); }) {
  check(layers_before_ < num_layers, "GuidedHeads: layer is {}, needs one below {}", guided.layer, num_layers);
}

void GuidedHeads::record(const Relation& relation, const AttentionRecorder::Weights& weights) {
  if (&relation != encoder_decoder_) return;  // self-attention
  if (layers_before_-- == 0) weight_EH_ = weights(guided_.head);
}

}  // namespace edgewise
