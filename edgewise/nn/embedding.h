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

/// A table of words: row w is what word w means to the model.
struct Embedding {
  at::Tensor weight;  // [C, M], C = words
  double scale = 1.0;

  Embedding() = default;
  Embedding(std::int64_t words, std::int64_t size, EmbeddingInit init, RandomStream& random);

  /// The rows of `tokens`, times scale: [T, M]. Throws Error for a token that is no row.
  at::Tensor operator()(std::span<const std::int64_t> tokens) const;

  /// The same plus the vectors of their positions, and dropout of words and of the sums while training.
  at::Tensor operator()(std::span<const std::int64_t> tokens, const Positions& table,
                        std::span<const std::int64_t> positions, const DropoutRates& dropout, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
  }
};

}  // namespace edgewise
