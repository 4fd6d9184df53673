// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/ops/dropout.h"

// Shapes: T = tokens, C = vocabulary size, P = positions of the table, M = model size.
namespace edgewise {

/// A token whose embedding is zero.
using kernels::kNoToken;

struct EmbedOptions {
  // Multiplies token embeddings, but not position encodings.
  double scale = 1.0;

  // Probability of setting an element to zero; the other elements are scaled by 1 / (1 - dropout).
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Probability of setting a token's whole embedding to zero; other embeddings are scaled by 1 / (1 - word_dropout).
  double word_dropout = 0.0;
  DropoutKey word_dropout_key = {};
};

/// Computes dropout(word_dropout(scale * weight[token]) + table[position]), [T, M], in one pass over memory; fp32 or
/// fp64, as the weight. A token may be kNoToken. With an undefined table, `positions` is empty. Differentiable once, in
/// weight and table; the gradients are dense and add the occurrences of a row in order. Throws Error for a token or
/// position without a row.
at::Tensor embed(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                 std::span<const std::int64_t> positions, const EmbedOptions& options = {});

/// Defines `embed` in plain ATen, with a gradient from autograd.
at::Tensor embed_plain(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                       std::span<const std::int64_t> positions, const EmbedOptions& options = {});

}  // namespace edgewise
