// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/base/random.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/positions.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// An embedding table with one row for each token of the vocabulary.
struct Embedding {
  at::Tensor weight;  // [C, M], C = vocabulary size
  double scale = 1.0;

  Embedding() = default;
  Embedding(std::int64_t vocabulary, std::int64_t size, EmbeddingInit init, RandomStream& random);

  /// Returns the rows of `tokens` times `scale`: [T, M]. Throws Error for a token outside of the table.
  at::Tensor operator()(std::span<const std::int64_t> tokens) const;

  /// Also applies dropout to whole tokens in training.
  at::Tensor operator()(std::span<const std::int64_t> tokens, const DropoutRates& dropout, Pass& pass) const;

  /// Also adds position vectors, and in training applies dropout to whole tokens and to the sums.
  at::Tensor operator()(std::span<const std::int64_t> tokens, const SidePositions& side_positions,
                        std::span<const std::int64_t> positions, const DropoutRates& dropout, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
  }
};

}  // namespace edgewise
