// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/norm/add_norm.h"

// The definitions of add_norm.h in plain loops: what every faster kernel is held to.
namespace edgewise::kernels::reference {

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);

template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);

}  // namespace edgewise::kernels::reference
