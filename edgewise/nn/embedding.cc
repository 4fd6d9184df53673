// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/embedding.h"

#include <cmath>

#include "edgewise/nn/init.h"
#include "edgewise/ops/embed.h"

namespace edgewise {
namespace {

at::Tensor word_table(std::int64_t words, std::int64_t size, EmbeddingInit init, RandomStream& random) {
  return init == EmbeddingInit::kXavier
             ? xavier_uniform({words, size}, size, words, random)
             : normal_init({words, size}, 1.0 / std::sqrt(static_cast<double>(size)), random);
}

}  // namespace

Embedding::Embedding(std::int64_t words, std::int64_t size, EmbeddingInit init, RandomStream& random)
    : weight(word_table(words, size, init, random)) {}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens) const {
  EmbedOptions options;
  options.scale = scale;
  return embed(weight, tokens, {}, {}, options);
}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens, const Positions& table,
                                 std::span<const std::int64_t> positions, const DropoutRates& dropout,
                                 Pass& pass) const {
  EmbedOptions options;
  options.scale = scale;
  pass.set_dropout(dropout.embedding, options.dropout, options.dropout_key);
  pass.set_dropout(dropout.word, options.word_dropout, options.word_dropout_key);
  const auto [table_PM, rows] = table.rows(positions, weight.scalar_type());
  return embed(weight, tokens, table_PM, rows, options);
}

}  // namespace edgewise
