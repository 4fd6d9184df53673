// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_index.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace edgewise {
namespace {

at::Tensor index_tensor(const std::vector<NodeIndex>& nodes) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(nodes.size())}, at::kLong);
  std::copy(nodes.begin(), nodes.end(), index.data_ptr<std::int64_t>());
  return index;
}

}  // namespace

EdgeIndexTensors edge_index_tensors(const Relation& relation) {
  const EdgeList edges = relation.edges();
  return {index_tensor(edges.sources), index_tensor(edges.destinations)};
}

}  // namespace edgewise
