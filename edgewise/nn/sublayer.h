// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "edgewise/nn/module.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// A norm: normalises each row by the formula of its kind, then scales and shifts it by learnt parameters; see
/// normalise() in ops/add_norm.h. A default-constructed norm is the identity without parameters. The result has the
/// given type or, without one, the type of x.
struct Norm {
  at::Tensor gain;  // [M], initially 1; alpha in the from-scratch note
  at::Tensor bias;  // [M], initially 0; undefined without bias
  NormKind kind = NormKind::kLayerNorm;
  double epsilon = 1e-5;

  Norm() = default;
  Norm(std::int64_t size, NormKind kind_of_norm, double norm_epsilon, bool has_bias = true);
  explicit Norm(const LayerOptions& options)
      : Norm(options.size, options.norm, options.norm_epsilon, options.has_norm_bias()) {}

  at::Tensor operator()(const at::Tensor& x_TM, std::optional<at::ScalarType> type = {}) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("gain", self.gain);
    part("bias", self.bias);
  }
};

/// States of nodes between two sublayers. Shapes: T = nodes, M = size of a node's state.
struct NodeState {
  at::Tensor x_TM;      // residual stream, in the type of the embeddings: fp32 in training, also with bf16
  at::Tensor input_TM;  // input of the next sublayer: the norm of x with NormPlacement::kPre, else x; in Pass::type_of
};

/// The residual connection, norm and dropout around a function f: attention or feed-forward.
///
///     pre    x + dropout(f(norm(x)))    the graph tutorial, the from-scratch note
///     post   norm(x + dropout(f(x)))    the paper, the textbook chapter's "add & norm"
///
/// `prepare_input` and `add_output` are separate functions, so that f may be message passing. `add_output` also applies
/// the norm of the next sublayer, so that a sum and its norm take one pass over memory.
struct Sublayer {
  Norm norm;
  NormPlacement placement = NormPlacement::kPre;
  double dropout = 0.0;

  Sublayer() = default;
  explicit Sublayer(const LayerOptions& options);

  /// Returns the norm in front of f: `norm` with NormPlacement::kPre, else the identity.
  const Norm& first_norm() const;

  /// Returns a state whose `input_TM` is the input of f.
  NodeState begin(const at::Tensor& x_TM, const Pass& pass) const;

  /// Returns the input of f in the type of x, for message passing.
  at::Tensor prepare_input(const at::Tensor& x_TM) const;

  /// Adds `y`, the output of f, to the state; `next` is the norm in front of the next sublayer.
  NodeState add_output(const at::Tensor& x_TM, const at::Tensor& y_TM, const Norm& next, Pass& pass) const;

  /// Returns only x, for callers that apply the next norm themselves.
  at::Tensor add_output(const at::Tensor& x_TM, const at::Tensor& y_TM, Pass& pass) const;
};

}  // namespace edgewise
