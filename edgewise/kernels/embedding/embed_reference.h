// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/embedding/embed.h"

// The definitions of embed.h in plain loops: what every faster kernel is held to.
namespace edgewise::kernels::reference {

template <typename T>
void embed_forward(const EmbedForward<T>& p);

template <typename T>
void embed_backward(const EmbedBackward<T>& p);

}  // namespace edgewise::kernels::reference
