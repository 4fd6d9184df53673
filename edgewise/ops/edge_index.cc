// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_index.h"

#include <ATen/ops/empty.h>

#include "edgewise/ops/device_cache.h"
#include "edgewise/ops/index_tensor.h"

namespace edgewise {

EdgeIndexTensors::EdgeIndexTensors(const RelationView& relation, at::Device device) {
  const at::Tensor host_source_E = at::empty({relation.num_edges()}, at::kLong);
  const at::Tensor host_destination_E = at::empty({relation.num_edges()}, at::kLong);
  auto* const sources = host_source_E.mutable_data_ptr<std::int64_t>();
  auto* const destinations = host_destination_E.mutable_data_ptr<std::int64_t>();
  for (std::int64_t destination = 0; destination < relation.num_destinations; ++destination) {
    for (EdgeIndex edge = relation.row_begin[destination]; edge < relation.row_begin[destination + 1]; ++edge) {
      sources[edge] = relation.source(destination, edge);
      destinations[edge] = destination;
    }
  }
  source_E = copy_to_device(host_source_E, device);
  destination_E = copy_to_device(host_destination_E, device);
}

const EdgeIndexTensors& edge_index_tensors(const Relation& relation, at::Device device) {
  return derive_on<EdgeIndexTensors>(relation, device);
}

}  // namespace edgewise
