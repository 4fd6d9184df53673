// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/mailboxes.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <map>

#include "edgewise/message/rows.h"

namespace edgewise {

at::Tensor Mailboxes::Bucket::view(const at::Tensor& message) const {
  std::vector<std::int64_t> shape = message.sizes().vec();
  shape.insert(shape.begin(), nodes.size(0));
  shape[1] = in_degree;
  return message.narrow(0, begin, nodes.size(0) * in_degree).view(shape);
}

Mailboxes::Mailboxes(const Relation& relation) : num_edges_(relation.num_edges()) {
  using Numbers = std::vector<std::int64_t>;
  const auto row_begin = relation.row_begin();
  Numbers nodes;
  Numbers index_of(static_cast<std::size_t>(relation.num_destinations()));
  std::map<std::int64_t, Numbers> nodes_by_in_degree;
  for (std::int64_t node = 0; node < relation.num_destinations(); ++node) {
    const std::int64_t in_degree = row_begin[node + 1] - row_begin[node];
    if (in_degree == 0) continue;
    index_of[node] = static_cast<std::int64_t>(nodes.size());
    nodes.push_back(node);
    nodes_by_in_degree[in_degree].push_back(node);
  }
  const bool is_one_bucket = nodes_by_in_degree.size() <= 1;
  if (nodes.empty()) nodes_by_in_degree[1] = {};
  nodes_ = to_tensor(nodes);

  Numbers joined_rows(nodes.size());
  if (!is_one_bucket) place_of_edge_ = at::empty({num_edges_}, at::kLong);
  auto* const place_of_edge = is_one_bucket ? nullptr : place_of_edge_.mutable_data_ptr<std::int64_t>();
  std::int64_t row = 0;
  std::int64_t place = 0;
  for (const auto& [in_degree, bucket_nodes] : nodes_by_in_degree) {
    buckets_.push_back({in_degree, to_tensor(bucket_nodes), place});
    for (const std::int64_t node : bucket_nodes) {
      joined_rows[index_of[node]] = row++;
      for (EdgeIndex edge = row_begin[node]; edge < row_begin[node + 1]; ++edge, ++place) {
        if (!is_one_bucket) place_of_edge[edge] = place;
      }
    }
  }
  joined_rows_ = to_tensor(joined_rows);
}

at::Tensor Mailboxes::edges() const {
  const at::Tensor edges = at::arange(num_edges_, at::kLong);
  return place_of_edge_.defined() ? at::empty_like(edges).index_copy_(0, place_of_edge_, edges) : edges;
}

at::Tensor Mailboxes::join(const std::vector<at::Tensor>& bucket_results) const {
  if (bucket_results.size() == 1) return bucket_results.front();
  return at::cat(bucket_results).index_select(0, joined_rows_);
}

}  // namespace edgewise
