// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_index.h"

#include <ATen/ops/empty.h>

#include <map>
#include <mutex>
#include <string>

namespace edgewise {
namespace {

EdgeIndexTensors list_edges(const RelationView& relation) {
  EdgeIndexTensors edges = {at::empty({relation.num_edges()}, at::kLong), at::empty({relation.num_edges()}, at::kLong)};
  auto* const source_E = edges.source_E.mutable_data_ptr<std::int64_t>();
  auto* const destination_E = edges.destination_E.mutable_data_ptr<std::int64_t>();
  for (std::int64_t destination = 0; destination < relation.num_destinations; ++destination) {
    for (EdgeIndex edge = relation.row_begin[destination]; edge < relation.row_begin[destination + 1]; ++edge) {
      source_E[edge] = relation.source(destination, edge);
      destination_E[edge] = destination;
    }
  }
  return edges;
}

// The tensors of a relation on each device that has asked for them.
class EdgeIndexCache {
 public:
  explicit EdgeIndexCache(const RelationView& relation) : relation_(relation) {}

  const EdgeIndexTensors& on(at::Device device) const {
    const std::scoped_lock lock(mutex_);
    auto [found, is_new] = tensors_.try_emplace(device.str());
    if (is_new) {
      const EdgeIndexTensors edges = list_edges(relation_);
      found->second = {edges.source_E.to(device), edges.destination_E.to(device)};
    }
    return found->second;
  }

 private:
  RelationView relation_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, EdgeIndexTensors> tensors_;
};

}  // namespace

const EdgeIndexTensors& edge_index_tensors(const Relation& relation, at::Device device) {
  return relation.derive<EdgeIndexCache>().on(device);
}

}  // namespace edgewise
