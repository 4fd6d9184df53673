// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/mailboxes.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <map>
#include <span>

#include "edgewise/message/rows.h"

namespace edgewise {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Message numbers sorted by node: node d has `messages[begin[d]] … messages[begin[d + 1] - 1]`.
struct SortedMessages {
  Numbers begin;
  Numbers messages;
};

SortedMessages sort_by_destination(std::span<const std::int64_t> destinations, std::int64_t num_nodes) {
  SortedMessages sorted{Numbers(static_cast<std::size_t>(num_nodes) + 1, 0), Numbers(destinations.size())};
  for (const std::int64_t destination : destinations) ++sorted.begin[destination + 1];
  for (std::int64_t node = 0; node < num_nodes; ++node) sorted.begin[node + 1] += sorted.begin[node];

  Numbers next(sorted.begin.begin(), sorted.begin.end() - 1);
  for (std::size_t message = 0; message < destinations.size(); ++message) {
    sorted.messages[next[destinations[message]]++] = static_cast<std::int64_t>(message);
  }
  return sorted;
}

Mailboxes::Bucket make_bucket(std::int64_t in_degree, const Numbers& nodes, const SortedMessages& sorted) {
  Numbers messages;
  messages.reserve(nodes.size() * static_cast<std::size_t>(in_degree));
  for (const std::int64_t node : nodes) {
    messages.insert(messages.end(), sorted.messages.begin() + sorted.begin[node],
                    sorted.messages.begin() + sorted.begin[node + 1]);
  }
  return {in_degree, to_tensor(nodes), to_tensor(messages)};
}

}  // namespace

at::Tensor Mailboxes::Bucket::gather(const at::Tensor& message) const {
  std::vector<std::int64_t> shape = message.sizes().vec();
  shape.insert(shape.begin(), nodes.size(0));
  shape[1] = in_degree;
  return message.index_select(0, messages).view(shape);
}

Mailboxes::Mailboxes(const at::Tensor& destinations, std::int64_t num_nodes) {
  const at::Tensor contiguous = destinations.contiguous();
  const std::span<const std::int64_t> destination_of(contiguous.const_data_ptr<std::int64_t>(),
                                                     static_cast<std::size_t>(contiguous.numel()));
  const SortedMessages sorted = sort_by_destination(destination_of, num_nodes);

  Numbers nodes;
  Numbers in_degrees;
  Numbers index_of(static_cast<std::size_t>(num_nodes));
  std::map<std::int64_t, Numbers> nodes_by_in_degree;
  for (std::int64_t node = 0; node < num_nodes; ++node) {
    const std::int64_t in_degree = sorted.begin[node + 1] - sorted.begin[node];
    if (in_degree == 0) continue;
    index_of[node] = static_cast<std::int64_t>(nodes.size());
    nodes.push_back(node);
    in_degrees.push_back(in_degree);
    nodes_by_in_degree[in_degree].push_back(node);
  }
  if (nodes.empty()) nodes_by_in_degree[1] = {};

  Numbers node_indices(destination_of.size());
  std::transform(destination_of.begin(), destination_of.end(), node_indices.begin(),
                 [&](std::int64_t node) { return index_of[node]; });
  Numbers joined_rows(nodes.size());
  std::int64_t row = 0;
  for (const auto& [in_degree, bucket_nodes] : nodes_by_in_degree) {
    buckets_.push_back(make_bucket(in_degree, bucket_nodes, sorted));
    for (const std::int64_t node : bucket_nodes) joined_rows[index_of[node]] = row++;
  }
  nodes_ = to_tensor(nodes);
  node_indices_ = to_tensor(node_indices);
  in_degrees_ = to_tensor(in_degrees);
  joined_rows_ = to_tensor(joined_rows);
}

at::Tensor Mailboxes::join(const std::vector<at::Tensor>& bucket_results) const {
  if (bucket_results.size() == 1) return bucket_results.front();
  return at::cat(bucket_results).index_select(0, joined_rows_);
}

}  // namespace edgewise
