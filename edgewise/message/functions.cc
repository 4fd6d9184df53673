// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/functions.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/builtins.h"
#include "edgewise/message/sent_messages.h"

namespace edgewise {

NodeBatch::NodeBatch(const Frame& frame, Rows nodes) : frame_(&frame), nodes_(std::move(nodes)) {}

NodeBatch::NodeBatch(const Frame& frame, Rows nodes, const SentMessages& messages, const Mailboxes::Bucket& bucket)
    : frame_(&frame), nodes_(std::move(nodes)), messages_(&messages), bucket_(&bucket) {}

at::Tensor NodeBatch::data(std::string_view name) const { return nodes_.gather(frame_->get(name)); }

at::Tensor NodeBatch::mailbox(std::string_view name) const {
  check(messages_ != nullptr,
        "NodeBatch::mailbox: message '{}' is asked for outside of a reduce function, which alone "
        "has messages",
        name);
  check(messages_->has(name), "NodeBatch::mailbox: message '{}' is missing, the messages are {}", name,
        messages_->names());
  return bucket_->view(messages_->tensor(name));
}

EdgeBatch::EdgeBatch(const Frame& node_frame, const Frame& edge_frame, const EdgeSelection& edges)
    : node_frame_(&node_frame), edge_frame_(&edge_frame), edges_(&edges) {}

at::Tensor EdgeBatch::source(std::string_view name) const { return gather_nodes(name, RowsOf::kSources, at_sources_); }

at::Tensor EdgeBatch::destination(std::string_view name) const {
  return gather_nodes(name, RowsOf::kDestinations, at_destinations_);
}

at::Tensor EdgeBatch::data(std::string_view name) const {
  if (const auto found = at_edges_.find(name); found != at_edges_.end()) return found->second;
  return at_edges_.emplace(name, edges_->rows().gather(edge_frame_->get(name))).first->second;
}

at::Tensor EdgeBatch::gather_nodes(std::string_view name, RowsOf rows_of, Gathered& gathered) const {
  if (const auto found = gathered.find(name); found != gathered.end()) return found->second;
  const at::Tensor& column = node_frame_->get(name);
  at::Tensor rows;
  if (has_message_kernels(column)) {
    // The backward pass of index_select would add up the gradients on one thread.
    BoundMessage copied;
    copied.message.left = {column, rows_of};
    copied.row_shape = column.sizes().slice(1).vec();
    rows = write_messages(copied, *edges_);
  } else {
    rows = column.index_select(0, rows_of == RowsOf::kSources ? sources() : destinations());
  }
  return gathered.emplace(name, rows).first->second;
}

}  // namespace edgewise
