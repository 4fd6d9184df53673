// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/message/functions.h"

namespace edgewise {

/// The message [E, …] on each of the edges.
at::Tensor compute(const BuiltinMessage& message, const EdgeBatch& edges);

/// What becomes of a message [M, …] at the nodes that it reached: [R, …].
at::Tensor compute(const BuiltinReduction& reduction, const at::Tensor& message, const Mailboxes& mailboxes);

}  // namespace edgewise
