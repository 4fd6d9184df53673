// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "edgewise/message/functions.h"
#include "edgewise/message/sent_messages.h"

// Calls user functions and built-ins, and checks their results. Error texts begin with `error_prefix`, such as
// "apply_nodes: the function".

namespace edgewise {

Columns call(const NodeFunction& function, const NodeBatch& nodes, std::string_view error_prefix);
Columns call(const EdgeFunction& function, const EdgeBatch& edges, std::string_view error_prefix);
at::Tensor call(const NodePredicate& predicate, const NodeBatch& nodes, std::string_view error_prefix);
at::Tensor call(const EdgePredicate& predicate, const EdgeBatch& edges, std::string_view error_prefix);

/// Returns whether a reduction calls a function of the user, which reads mailboxes.
bool need_mailboxes(const std::vector<Reduction>& reductions);

/// Reduces messages to node columns [N, …]; a node without messages gets zeros. Messages whose edges are not in the
/// order of mailboxes must not be reduced by user functions. Sums and means of columns share one pass over the edges.
/// Throws Error when two reductions write the same column, or one reads a message that was not sent.
Columns call_reductions(const std::vector<Reduction>& reductions, const Frame& node_frame, const SentMessages& sent,
                        std::string_view caller);

}  // namespace edgewise
