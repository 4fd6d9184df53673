// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/nn/init.h"

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
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    check(tokens[i] >= 0 && tokens[i] < weight.size(0), "Embedding: token {} is {}, needs a number from 0 to {}", i,
          tokens[i], weight.size(0) - 1);
  }
  const at::Tensor rows = at::embedding(weight, at::tensor(at::ArrayRef<std::int64_t>(tokens.data(), tokens.size())));
  return scale == 1.0 ? rows : rows * scale;
}

}  // namespace edgewise
