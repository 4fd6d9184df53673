// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The source and destination of each edge of a relation, as int64 tensors [E] on a device.
struct EdgeIndexTensors {
  EdgeIndexTensors(const RelationView& relation, at::Device device);

  at::Tensor source_E;
  at::Tensor destination_E;
};

/// Copies the ends of a relation's edges to a device, once for a relation and a device (device_cache.h). O(edges)
/// memory.
const EdgeIndexTensors& edge_index_tensors(const Relation& relation, at::Device device);

}  // namespace edgewise
