// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm.h"

#include "edgewise/base/profile.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/definition.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/ops/norm_arguments.h"
#include "edgewise/ops/norm_kernels.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

// Inputs: x_TM, gain_M, bias_M.
class Normalise : public Operation {
 public:
  explicit Normalise(const NormSettings& settings) : settings_(settings) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("norms");
    const at::Tensor gain_M = aligned_contiguous(inputs[1]);
    const NormResults results =
        norm_forward(settings_, aligned_contiguous(inputs[0]), {}, gain_M, aligned_contiguous(inputs[2]));
    saved = {results.sum_TM, results.mean_T, results.deviation_T, gain_M};
    return {results.normed_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("norms");
    check_differentiated_once("normalise");
    const NormResults results = {pass.saved[0], {}, pass.saved[1], pass.saved[2]};
    const NormGradients grads =
        norm_backward(settings_, results, pass.saved[3], {}, aligned_contiguous(pass.grad_outputs[0]));
    return {grads.x_TM, grads.gain_M, grads.bias_M};
  }

 private:
  NormSettings settings_;
};

}  // namespace

at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type) {
  const AddNormOptions options = {.kind = kind, .epsilon = epsilon, .type = type};
  check_summands("normalise", x_TM, {}, options.dropout);
  check_norm("normalise", x_TM, gain_M, bias_M, options);
  if (uses_definition(x_TM, kernels::can_add_norm(x_TM.size(-1)))) {
    return add_norm_plain(x_TM, {}, gain_M, bias_M, options).normed_TM;
  }
  return apply_one<Normalise>({x_TM, gain_M, bias_M}, norm_settings(x_TM, {}, options));
}

}  // namespace edgewise
