// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/device/stream.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/embedding/token_groups_gpu.h"

// Token embeddings on GPUs. All pointers are to memory of the device, and those to matrices are multiples of 16 bytes.
// The results have the bits of the CPU. A size that is a multiple of 4 is fastest. T is float.
namespace edgewise::kernels {

/// Begins embed_forward() in `stream`.
template <typename T>
void embed_forward(const EmbedForward<T>& p, device::Stream stream);

/// Begins embed_backward() in `stream`, for tokens that group_tokens() has grouped; p.tokens is not read. A warp adds
/// the gradients of equal tokens one after the other, so that the time is at least in proportion to the largest group.
template <typename T>
void embed_backward(const EmbedBackward<T>& p, const TokenGroupsView& groups, device::Stream stream);

}  // namespace edgewise::kernels
