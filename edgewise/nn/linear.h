// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/base/random.h"
#include "edgewise/graph/neighbours.h"
#include "edgewise/ops/linear.h"

// Shapes: N = nodes, A = computed nodes, W = width of the filter, M = size of a node's state.
namespace edgewise {

enum class Bias { kNone, kZero };  // kZero: a bias with initial value 0

/// A linear layer: x · weightᵀ + bias over the last dimension. LinearOptions (ops/linear.h) add activation and dropout.
struct Linear {
  at::Tensor weight;          // [out, in]
  at::Tensor bias;            // [out]; undefined without bias
  bool rounds_input = false;  // as a layer of an int8_copy() does (nn/int8_copy.h)

  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, Bias with_bias, RandomStream& random);

  /// Maps [..., in] to [..., out].
  at::Tensor operator()(const at::Tensor& x, const LinearOptions& options = {}) const;

  /// Returns handles of the parameters, for linear_group, which multiplies them by operand(x).
  LinearWeights weights() const { return {weight, bias}; }

  /// Returns x as the product computes with it: rounded to 8 bits with `rounds_input`.
  at::Tensor operand(const at::Tensor& x) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
    part("bias", self.bias);
  }
};

/// The depthwise half of a separable convolution (Chollet 2017), which filters each dimension of the state on its own:
///
///     y_a[m] = sum_w weight[w, m] · x_neighbour(a, w)[m]
///
/// The first linear layer of feed-forward is the pointwise half. The initial filter gives y = x. A default-constructed
/// convolution is off and has no parameters.
struct DepthwiseConvolution {
  at::Tensor weight_WM;
  NeighbourWindow window;

  DepthwiseConvolution() = default;
  DepthwiseConvolution(std::int64_t size, NeighbourWindow filter_window);

  bool is_on() const { return weight_WM.defined(); }

  /// Returns y, [A, M], in the type of x. `neighbours`, [A, W], holds row numbers of x, including each node's own row;
  /// kNoNode stands for a row of zeros.
  at::Tensor operator()(const at::Tensor& x_NM, std::span<const NodeIndex> neighbours) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight_WM);
  }
};

}  // namespace edgewise
