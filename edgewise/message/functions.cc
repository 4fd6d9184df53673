// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/functions.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"

namespace edgewise {

NodeBatch::NodeBatch(const Frame& frame, Rows nodes) : frame_(&frame), nodes_(std::move(nodes)) {}

NodeBatch::NodeBatch(const Frame& frame, Rows nodes, const Columns& messages, const Mailboxes::Bucket& bucket)
    : frame_(&frame), nodes_(std::move(nodes)), messages_(&messages), bucket_(&bucket) {}

at::Tensor NodeBatch::data(std::string_view name) const { return nodes_.gather(frame_->get(name)); }

at::Tensor NodeBatch::mailbox(std::string_view name) const {
  check(messages_ != nullptr,
        "NodeBatch::mailbox: message '{}' is asked for outside of a reduce function, which alone "
        "has messages",
        name);
  const auto message = messages_->find(std::string(name));
  check(message != messages_->end(), "NodeBatch::mailbox: message '{}' is missing, the messages are {}", name,
        describe_names(*messages_));
  return bucket_->gather(message->second);
}

EdgeBatch::EdgeBatch(const Frame& node_frame, const Frame& edge_frame, Rows edges, at::Tensor sources,
                     at::Tensor destinations)
    : node_frame_(&node_frame),
      edge_frame_(&edge_frame),
      edges_(std::move(edges)),
      sources_(std::move(sources)),
      destinations_(std::move(destinations)) {}

at::Tensor EdgeBatch::source(std::string_view name) const { return node_frame_->get(name).index_select(0, sources_); }

at::Tensor EdgeBatch::destination(std::string_view name) const {
  return node_frame_->get(name).index_select(0, destinations_);
}

at::Tensor EdgeBatch::data(std::string_view name) const { return edges_.gather(edge_frame_->get(name)); }

}  // namespace edgewise
