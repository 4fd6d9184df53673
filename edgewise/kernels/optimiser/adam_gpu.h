// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/optimiser/adam.h"

// A step of the optimiser on GPUs, without waiting for the device between the parts:
//
//     sum_squares(gradient, count, workspace, squares, stream);
//     divide_by_norm({.sum_of_squares = squares, .tokens = tokens, .clip_norm = 1, .divisor = divisor}, stream);
//     adam_update({…, .divisor = divisor, …}, stream);
//
// All pointers are to memory of the device, and those to arrays are multiples of 16 bytes. Each result has the same
// bits in every run and on every device.
namespace edgewise::kernels {

/// Begins reference::adam_update() in `stream`, and gives its bits. A count that is a multiple of 4 is fastest. Moves
/// 30 bytes an element, and 4 more with divided_gradient.
void adam_update(const AdamUpdate& p, device::Stream stream);

inline constexpr std::int64_t kSquaresOfPart = 8192;

/// Returns the number of floats of the workspace of sum_squares().
constexpr std::int64_t sum_squares_workspace(std::int64_t count) {
  return (count + kSquaresOfPart - 1) / kSquaresOfPart;
}

/// Begins to compute *sum, the sum of values[i]^2 over `count` values, in `stream`. Sums of 8192 squares are floats,
/// and their sum is a double. The order depends on `count` alone. `workspace` has sum_squares_workspace() floats.
void sum_squares(const float* values, std::int64_t count, float* workspace, double* sum, device::Stream stream);

/// The arguments of divide_by_norm(). The gradients of `tokens` tokens are summed, and the norm is that of their mean.
struct DivideByNorm {
  const double* sum_of_squares;  // the squared norm of the summed gradients
  double tokens;
  double clip_norm;  // larger norms are clipped to it; 0: none is
  float* divisor;    // tokens, times norm / clip_norm if that is above 1; NaN if the norm is not finite
  double* norm;      // or null
};

/// Begins to compute the divisor of AdamUpdate in `stream`.
void divide_by_norm(const DivideByNorm& p, device::Stream stream);

}  // namespace edgewise::kernels
