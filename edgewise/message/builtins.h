// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/message/functions.h"
#include "edgewise/ops/edge_sum.h"

// Computes built-in messages: by the operations of ops/edge_sum.h where the columns have a type for them, else in plain
// ATen.
namespace edgewise {

/// Returns the name of the function that makes the message, such as "u_mul_e". Throws Error for an unknown kind.
std::string builtin_name(const BuiltinMessage& message);

/// Returns whether ops/edge_sum.h takes rows of this type.
bool has_message_kernels(const at::Tensor& column);

/// A built-in message whose columns are known.
struct BoundMessage {
  EdgeMessage message;
  std::vector<std::int64_t> row_shape;  // a dot product sums the last dimension
};

/// Finds the columns of a message. Returns nothing if the operations of ops/edge_sum.h do not take their types. Throws
/// Error for missing columns, for shapes that do not fit, and for an unknown kind.
std::optional<BoundMessage> bind(const BuiltinMessage& message, const Frame& node_frame, const Frame& edge_frame,
                                 const EdgeSelection& edges);

/// Computes a message on each edge of a selection, in its order: [E, …].
at::Tensor write_messages(const BoundMessage& message, const EdgeSelection& edges);

/// Does so in plain ATen, from columns of any types.
at::Tensor compute_plain(const BuiltinMessage& message, const EdgeBatch& edges);

}  // namespace edgewise
