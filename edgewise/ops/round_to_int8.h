// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

// Shapes: T = rows, I = features.
namespace edgewise {

/// The factors of a product in 8 bits. The runtime rounds weights when it packs them, and inputs in each product.
enum class Int8Factor { kWeight, kInput };

/// Returns the numbers with which a product in 8 bits computes (RuntimePrecision::kInt8): each row of the last
/// dimension is divided by a scale that makes its largest magnitude 127, rounded to integers, and multiplied by the
/// scale again. Numbers in fp32 have the bits of the runtime on the instruction set in use. The gradient of x is that
/// of the result, as if nothing were rounded (straight-through estimator, Bengio et al. 2013, "Estimating or
/// Propagating Gradients Through Stochastic Neurons"). A number that is not finite gives NaN. Throws Error unless x is
/// fp32 or fp64 and has a dimension.
at::Tensor round_to_int8(const at::Tensor& x_TI, Int8Factor factor);

/// Defines round_to_int8 in plain ATen, with gradients from autograd. Weights have equal bits; the kernel for inputs
/// does not round products before it rounds them to integers, so that a few near n + 0.5 differ by one integer.
at::Tensor round_to_int8_plain(const at::Tensor& x_TI);

}  // namespace edgewise
