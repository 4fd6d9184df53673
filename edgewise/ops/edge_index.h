// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The source and destination of each edge of a relation, as int64 tensors [E] on the CPU.
struct EdgeIndexTensors {
  at::Tensor source_E;
  at::Tensor destination_E;
};
inline EdgeIndexTensors edge_index_tensors(const Relation& relation) {
  const EdgeList edges = relation.edges();
  return {at::tensor(edges.sources).to(at::kLong), at::tensor(edges.destinations).to(at::kLong)};
}

}  // namespace edgewise
