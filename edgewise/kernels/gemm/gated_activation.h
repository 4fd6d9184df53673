// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/activation.h"

// Gated linear units (Dauphin et al. 2017; Shazeer 2020). T is float or BFloat16.
namespace edgewise::kernels {

/// The arguments of out = dropout(activation(gate) * x), rounded to T.
template <typename T>
struct GatedActivation {
  GemmActivation activation;
  std::int64_t count;
  const T* gate;
  const T* x;
  T* out;
  Dropout dropout;
};

/// The arguments of the gradients of `gate` and `x`.
template <typename T>
struct GatedActivationGradient {
  GemmActivation activation;
  std::int64_t count;
  const T* gate;
  const T* x;
  const T* grad_out;
  T* grad_gate;
  T* grad_x;
  Dropout dropout;
};

/// Both make one pass over memory, on all threads.
template <typename T>
void gated_activation(const GatedActivation<T>& p);
template <typename T>
void gated_activation_gradient(const GatedActivationGradient<T>& p);

namespace reference {

template <typename T>
void gated_activation(const GatedActivation<T>& p);
template <typename T>
void gated_activation_gradient(const GatedActivationGradient<T>& p);

}  // namespace reference
}  // namespace edgewise::kernels
