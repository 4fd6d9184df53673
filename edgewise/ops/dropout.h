// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>

namespace edgewise {

/// Selects the random numbers of a dropout operation. Seed and stream alone determine them, so that backward draws the
/// same random numbers again instead of storing them.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// Sets each element of x (fp32, bf16 or fp64) to zero with probability `rate`, and scales the other elements by
/// 1 / (1 - rate). Only key and index of an element determine the choice; backward draws the same numbers again.
at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key);

/// Defines `dropout` in plain ATen.
at::Tensor dropout_plain(const at::Tensor& x, double rate, DropoutKey key);

/// Deleted, because `dropout(x, rate, {})` would otherwise call at::dropout(x, rate, false), which drops nothing.
at::Tensor dropout(const at::Tensor& x, double rate, std::initializer_list<DropoutKey> key) = delete;

}  // namespace edgewise
