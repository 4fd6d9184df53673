// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/module.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>

namespace edgewise {
namespace {

template <typename Draw>
at::Tensor draw_tensor(at::IntArrayRef shape, Draw&& draw) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(draw());
  return tensor.set_requires_grad(true);
}

}  // namespace

at::Tensor xavier_uniform(at::IntArrayRef shape, std::int64_t fan_in, std::int64_t fan_out, RandomStream& random) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  return draw_tensor(shape, [&] { return bound * (2.0 * random.uniform() - 1.0); });
}

at::Tensor normal_init(at::IntArrayRef shape, double deviation, RandomStream& random) {
  return draw_tensor(shape, [&] { return deviation * random.normal(); });
}

at::Tensor embedding_init(std::int64_t rows, std::int64_t size, EmbeddingInit init, RandomStream& random) {
  if (init == EmbeddingInit::kXavier) return xavier_uniform({rows, size}, size, rows, random);
  return normal_init({rows, size}, 1.0 / std::sqrt(static_cast<double>(size)), random);
}

at::Tensor constant_init(at::IntArrayRef shape, double value) {
  return at::full(shape, value, at::kFloat).set_requires_grad(true);
}

}  // namespace edgewise
