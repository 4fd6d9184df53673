// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "edgewise/message/functions.h"

// Calls user functions and built-ins, and checks their results. Error texts begin with `error_prefix`, such as
// "apply_nodes: the function". builtins.cc has compute(), calls.cc has the other functions.

namespace edgewise {

/// Computes a built-in message on each edge: [E, …].
at::Tensor compute(const BuiltinMessage& message, const EdgeBatch& edges);

/// Reduces a message [E, …] at the nodes that received it: [R, …], in the order of mailboxes.nodes().
at::Tensor compute(const BuiltinReduction& reduction, const at::Tensor& message, const Mailboxes& mailboxes);

Columns call(const NodeFunction& function, const NodeBatch& nodes, std::string_view error_prefix);
Columns call(const Message& function, const EdgeBatch& edges, std::string_view error_prefix);
at::Tensor call(const NodePredicate& predicate, const NodeBatch& nodes, std::string_view error_prefix);
at::Tensor call(const EdgePredicate& predicate, const EdgeBatch& edges, std::string_view error_prefix);

/// Computes all messages, each [E, …]. Throws Error when two messages have the same name.
Columns call_messages(const std::vector<Message>& messages, const EdgeBatch& edges, std::string_view caller);

/// Reduces the messages `sent` to node columns [R, …], one row for each node that received a message. Throws Error when
/// two reductions write the same column, or one reads a message that was not sent.
Columns call_reductions(const std::vector<Reduction>& reductions, const Frame& node_frame, const Columns& sent,
                        const Mailboxes& mailboxes, std::string_view caller);

}  // namespace edgewise
