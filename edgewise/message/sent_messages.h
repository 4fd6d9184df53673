// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/message/builtins.h"
#include "edgewise/message/functions.h"

namespace edgewise {

/// The messages of a call, by name. Does not compute a built-in message before a reduction needs its tensor.
class SentMessages {
 public:
  /// Calls the user functions on the edges of `edges`, in their order. Throws Error, with `caller` in the message, for
  /// a name that is sent twice. Frames and edges must outlive this object.
  SentMessages(const std::vector<Message>& messages, const Frame& node_frame, const Frame& edge_frame,
               const EdgeSelection& edges, std::string_view caller);

  bool has(std::string_view name) const { return messages_.contains(name); }
  std::string names() const;

  const EdgeSelection& edges() const { return edges_; }

  /// Returns a message on each edge, [E, …].
  const at::Tensor& tensor(std::string_view name) const;

  /// Returns a message as the operand of a sum or an extremum over edges: a built-in one without its tensor. Returns
  /// nothing if its type is not one of ops/edge_sum.h.
  std::optional<BoundMessage> bound(std::string_view name) const;

 private:
  struct Sent {
    std::optional<BuiltinMessage> builtin;
    std::optional<BoundMessage> bound;
    mutable at::Tensor tensor;  // undefined until it is needed
  };
  void add(const std::string& name, Sent sent, std::string_view caller);

  const EdgeSelection& edges_;
  EdgeBatch batch_;
  std::map<std::string, Sent, std::less<>> messages_;
};

}  // namespace edgewise
