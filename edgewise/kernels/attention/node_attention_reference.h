// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/node_attention.h"

namespace edgewise::kernels::reference {

/// kernels::node_attention in plain loops.
template <typename T>
void node_attention(const NodeAttention<T>& p);

}  // namespace edgewise::kernels::reference
