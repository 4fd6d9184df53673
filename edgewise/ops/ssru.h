// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

// Shapes: N = nodes, M = size of a node's state.
namespace edgewise {

/// Computes the simpler simple recurrent unit (Kim et al. 2019) along the paths of a relation, for each element of a
/// state on its own:
///
///     f_n = sigmoid(forget_n),  c_n = f_n · c_before + (1 − f_n) · input_n,  result_n = max(c_n, 0)
///
/// The source of node n besides itself, if there is one, is node n − 1, whose c is c_before; otherwise c_before is 0.
/// The relation `window 2` over texts, causal, is one. Both tensors are [N, M] of one type: fp32, bf16, which computes
/// c in fp32, or fp64. Differentiable once in both. GPUs have no kernel and compute the definition. Throws Error for
/// shapes or types that do not fit, and for a node with another source.
at::Tensor ssru(const Relation& path, const at::Tensor& forget_NM, const at::Tensor& input_NM);

/// Defines `ssru` in plain ATen, with gradients from autograd: one step for all nodes that are equally far from the
/// first node of their path.
at::Tensor ssru_plain(const Relation& path, const at::Tensor& forget_NM, const at::Tensor& input_NM);

}  // namespace edgewise
