// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

// Lists of edges as tensors, and the parts of definitions over them.
namespace edgewise {

/// The source and destination of each edge of a relation, as int64 tensors [E] on a device.
struct EdgeIndexTensors {
  EdgeIndexTensors(const RelationView& relation, at::Device device);

  at::Tensor source_E;
  at::Tensor destination_E;
};

/// Copies the ends of a relation's edges to a device, once for a relation and a device (device_relation.h). O(edges)
/// memory.
const EdgeIndexTensors& edge_index_tensors(const Relation& relation, at::Device device);

/// Returns the softmax of scores [E, H] over the edges into each destination. An edge of score -inf gets weight 0, also
/// in a row where all scores are -inf: its weights are 0, not NaN.
at::Tensor softmax_over_rows(const EdgeIndexTensors& edges, std::int64_t num_destinations, const at::Tensor& score_EH);

/// Returns the sum of weight [E, H] · value [S, H, V] over the edges into each destination, [D, H, V], computed in the
/// type of the weights, in the type of the values.
at::Tensor sum_messages(const EdgeIndexTensors& edges, std::int64_t num_destinations, const at::Tensor& weight_EH,
                        const at::Tensor& value_SHV);

}  // namespace edgewise
