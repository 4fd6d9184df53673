// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/embedding.h"

#include "edgewise/nn/init.h"
#include "edgewise/ops/embed.h"

namespace edgewise {

Embedding::Embedding(std::int64_t vocabulary, std::int64_t size, EmbeddingInit init, RandomStream& random)
    : weight(embedding_init(vocabulary, size, init, random)) {}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens) const {
  return embed(weight, tokens, {}, {}, {.scale = scale});
}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens, const DropoutRates& dropout, Pass& pass) const {
  EmbedOptions options = {.scale = scale};
  pass.set_dropout(dropout.word, options.word_dropout, options.word_dropout_key);
  return embed(weight, tokens, {}, {}, options);
}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens, const SidePositions& side_positions,
                                 std::span<const std::int64_t> positions, const DropoutRates& dropout,
                                 Pass& pass) const {
  EmbedOptions options = {.scale = scale};
  pass.set_dropout(dropout.embedding, options.dropout, options.dropout_key);
  pass.set_dropout(dropout.word, options.word_dropout, options.word_dropout_key);
  const auto [table_PM, rows] = side_positions.rows(positions, weight.options());
  return embed(weight, tokens, table_PM, rows, options);
}

}  // namespace edgewise
