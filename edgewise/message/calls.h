// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "edgewise/message/functions.h"

// Calling what the user gave, and checking what it returned. `who` is how errors begin: "apply_nodes: the function".

namespace edgewise {

Columns call(const NodeFunction& function, const NodeBatch& nodes, std::string_view who);
Columns call(const Message& function, const EdgeBatch& edges, std::string_view who);
at::Tensor call(const NodePredicate& predicate, const NodeBatch& nodes, std::string_view who);
at::Tensor call(const EdgePredicate& predicate, const EdgeBatch& edges, std::string_view who);

/// All messages by name, each [M, …]. Throws Error when two have the same name.
Columns call_messages(const std::vector<Message>& messages, const EdgeBatch& edges, std::string_view caller);

/// The node columns that the reductions make of the messages sent, each with a row a node that was reached. Throws
/// Error when two write the same column, or one reads what nobody sent.
Columns call_reductions(const std::vector<Reduction>& reductions, const Frame& node_frame, const Columns& sent,
                        const Mailboxes& mailboxes, std::string_view caller);

}  // namespace edgewise
