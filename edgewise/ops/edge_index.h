// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The ends of a relation's edges as int64 tensors [E] on the CPU, for definitions in plain ATen. O(edges).
struct EdgeIndexTensors {
  at::Tensor source_E;
  at::Tensor destination_E;
};
EdgeIndexTensors edge_index_tensors(const Relation& relation);

}  // namespace edgewise
