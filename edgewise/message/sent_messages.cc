// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/sent_messages.h"

#include <fmt/format.h>

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/calls.h"
#include "edgewise/message/describe.h"

namespace edgewise {

SentMessages::SentMessages(const std::vector<Message>& messages, const Frame& node_frame, const Frame& edge_frame,
                           const EdgeSelection& edges, std::string_view caller)
    : edges_(edges), batch_(node_frame, edge_frame, edges) {
  for (const Message& message : messages) {
    if (const auto* builtin = std::get_if<BuiltinMessage>(&message)) {
      add(builtin->out, {*builtin, bind(*builtin, node_frame, edge_frame, edges), {}}, caller);
      continue;
    }
    const Columns columns =
        call(std::get<EdgeFunction>(message), batch_, fmt::format("{}: a message function", caller));
    for (const auto& [name, values] : columns) add(name, {std::nullopt, std::nullopt, values}, caller);
  }
}

void SentMessages::add(const std::string& name, Sent sent, std::string_view caller) {
  check(messages_.emplace(name, std::move(sent)).second, "{}: '{}' is sent twice, needs each name once", caller, name);
}

std::string SentMessages::names() const { return describe_names(messages_); }

const at::Tensor& SentMessages::tensor(std::string_view name) const {
  const Sent& sent = messages_.find(name)->second;
  if (!sent.tensor.defined()) {
    sent.tensor = sent.bound ? write_messages(*sent.bound, edges_) : compute_plain(*sent.builtin, batch_);
  }
  return sent.tensor;
}

std::optional<BoundMessage> SentMessages::bound(std::string_view name) const {
  const Sent& sent = messages_.find(name)->second;
  if (sent.bound) return sent.bound;
  const at::Tensor& message = tensor(name);
  if (!has_message_kernels(message)) return std::nullopt;
  BoundMessage copied;
  copied.message.left = {message, RowsOf::kEdges, edges_.places()};
  copied.row_shape = message.sizes().slice(1).vec();
  return copied;
}

}  // namespace edgewise
