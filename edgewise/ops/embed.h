// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/ops/attend.h"

// Shapes: T = tokens, C = words, P = positions of the table, M = model size.

namespace edgewise {

struct EmbedOptions {
  // Multiplies the rows of words, not those of positions.
  double scale = 1.0;

  // Share of the result set to zero while the rest grows by 1 / (1 - dropout): the numbers of `dropout` in dropout.h.
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Share of tokens whose word is dropped as a whole, while the others' grow: `dropout` of one number a token.
  double word_dropout = 0.0;
  DropoutKey word_dropout_key = {};
};

/// dropout(word_dropout(scale * weight[token]) + table[position]), [T, M], in one pass over memory; fp32 or fp64, as
/// the weight is. The table may be undefined: then there are no positions either. Differentiable once in the weight
/// alone, whose gradient is dense and sums the tokens of a word in their order. Throws Error for a token or a position
/// that is no row.
at::Tensor embed(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                 std::span<const std::int64_t> positions, const EmbedOptions& options = {});

/// The definition in plain ATen, with a gradient that autograd derives.
at::Tensor embed_plain(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                       std::span<const std::int64_t> positions, const EmbedOptions& options = {});

}  // namespace edgewise
