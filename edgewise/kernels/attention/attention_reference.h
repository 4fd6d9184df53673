// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention.h"

// The definition of attention in plain loops, for float, double and BFloat16: what every faster kernel is held to.
namespace edgewise::kernels::reference {

template <typename T>
void attention_forward(const AttentionForward<T>& p);

/// Overwrites all gradients. Sums in a fixed order whatever the number of threads; no atomics.
template <typename T>
void attention_backward(const AttentionBackward<T>& p);

template <typename T>
void attention_weights(const AttentionWeights<T>& p);

template <>
void attention_forward(const AttentionForward<BFloat16>& p);
template <>
void attention_backward(const AttentionBackward<BFloat16>& p);
template <>
void attention_weights(const AttentionWeights<BFloat16>& p);

}  // namespace edgewise::kernels::reference
