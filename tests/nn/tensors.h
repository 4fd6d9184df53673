// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "edgewise/base/random.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/serialize.h"
#include "tests/nn/convert_parameters.h"
#include "tests/support/error_of.h"

namespace edgewise {

/// Draws standard normal numbers; shape and seed determine them.
inline at::Tensor random_tensor(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType dtype = at::kDouble) {
  RandomStream random(seed);
  at::Tensor tensor = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<double>()[i] = random.normal();
  return tensor.to(dtype);
}

/// Returns a copy of the layer in fp64 with random parameters, none zero and no two equal; tied parameters stay tied.
template <typename Layer>
Layer randomised(Layer layer, std::uint64_t seed = 1) {
  convert_parameters(layer, at::kDouble);
  std::uint64_t stream = mix(seed, 1);
  for (const NamedTensor& named : parameters(layer)) {
    named.tensor.detach().copy_(0.5 * random_tensor(named.tensor.sizes(), stream++));
  }
  return layer;
}

inline void expect_close(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  if (actual.numel() == 0) return;
  EXPECT_TRUE(actual.isfinite().all().item<bool>());
  EXPECT_LE((actual - expected).abs().max().item<double>(), tolerance);
}

}  // namespace edgewise
