// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/loss/rdrop_loss.h"
#include "edgewise/kernels/loss/softmax_loss.h"

// The losses on GPUs. Each function computes what the CPU's function of this name computes, and begins in `stream`. All
// pointers are to memory of the device, logits and gradients to multiples of 16 bytes, and a row has fewer than 2^31
// columns. Each result has the same bits in every run.
namespace edgewise::kernels {

/// Reads the logits twice, the second time mostly from the cache, and writes only the results. Gradient is float or
/// BFloat16; only a gradient of floats may be `logits`.
template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem, device::Stream stream);

/// Has the passes and the arguments of softmax_loss().
template <typename Gradient>
void rdrop_loss(const RDropLoss<Gradient>& problem, device::Stream stream);

/// The largest LogSumExpTopK::capacity that reduce_logits_tile() accepts.
inline constexpr int kMaxTopTokens = 64;

/// Adds a tile to the accumulators, whose sums have a relative error of about 1e-6. A tile may have all tokens. The
/// time of a row grows where hundreds of logits are as large as one of the k largest.
void reduce_logits_tile(const LogitsTile& p, device::Stream stream);

}  // namespace edgewise::kernels
