// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <vector>

#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/loss/rdrop_loss.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/ops/loss_tile_rows.h"
#include "edgewise/ops/loss_tiles.h"
#include "edgewise/ops/matrix_product.h"

// Shapes: T = tokens, R = rows of a tile, P = pairs of a tile, M = size of a state, C = vocabulary.
namespace edgewise {
namespace {

class TiledLossOnGpu {
 public:
  TiledLossOnGpu(const LossTensors& tensors, const LossRule& rule, std::int64_t max_tile_rows)
      : tensors_(tensors),
        rule_(rule),
        max_tile_rows_(std::min(max_tile_rows, tensors.state_TM.size(0))),
        type_(tensors.state_TM.scalar_type()),
        weight_CM_(tensors.weight_CM.to(type_)),
        loss_T_(floats({num_tokens()})),
        divergence_T_(floats({rule.rdrop_weight ? num_tokens() / 2 : 0})),
        is_correct_T_(at::empty({num_tokens()}, floats_.dtype(at::kBool))),
        logits_RC_(floats({max_tile_rows_, vocabulary_size()})) {
    // Gradients in fp32 overwrite the logits.
    if (has_gradients()) grad_logits_RC_ = type_ == at::kFloat ? logits_RC_ : at::empty_like(logits_RC_, type_);
    if (tensors.grad_bias_C.defined()) {
      workspace_ = floats({kernels::gradient_workspace_size(max_tile_rows_, vocabulary_size())});
    }
  }

  void run(const TileRows& tile) {
    const at::Tensor state_RM = gather_state(tile);
    multiply_add_bias(state_RM, weight_CM_.t(), tensors_.bias_C, logits_RC_.narrow(0, 0, tile.num_rows()));
    with_float_or_bf16(type_, [&](auto zero) {
      using T = decltype(zero);
      rule_.rdrop_weight ? compute_rdrop_loss<T>(tile) : compute_loss<T>(tile);
      if (tensors_.grad_bias_C.defined()) add_grad_bias<T>(tile.num_rows());
    });
    if (tensors_.grad_state_TM.defined()) write_grad_state(tile);
    if (tensors_.grad_weight_CM.defined()) add_grad_weight(state_RM, tile);
  }

  /// Returns the loss and the number of correct tokens of all tiles.
  at::Tensor sums() const {
    at::Tensor loss = loss_T_.sum(at::kDouble);
    if (rule_.rdrop_weight) loss += divergence_T_.sum(at::kDouble) * *rule_.rdrop_weight;
    return at::stack({loss, is_correct_T_.sum().to(at::kDouble)});
  }

 private:
  std::int64_t num_tokens() const { return tensors_.state_TM.size(0); }
  std::int64_t vocabulary_size() const { return tensors_.weight_CM.size(0); }
  at::Tensor floats(at::IntArrayRef sizes) const { return at::empty(sizes, floats_); }

  bool has_gradients() const {
    return tensors_.grad_state_TM.defined() || tensors_.grad_weight_CM.defined() || tensors_.grad_bias_C.defined();
  }

  at::Tensor gather_state(const TileRows& tile) const {
    std::vector<at::Tensor> parts_PM;
    tile.for_passes([&](std::int64_t /*to*/, std::int64_t from) {
      parts_PM.push_back(tensors_.state_TM.narrow(0, from, tile.count));
    });
    return parts_PM.size() == 1 ? parts_PM[0] : at::cat(parts_PM);
  }

  template <typename T>
  void compute_loss(const TileRows& tile) {
    const kernels::SoftmaxLoss<T> arguments = {.rows = tile.count,
                                               .columns = vocabulary_size(),
                                               .logits = data_or_null<float>(logits_RC_),
                                               .labels = data_or_null<std::int64_t>(tensors_.labels_T) + tile.begin,
                                               .target = rule_.target,
                                               .gradient = data_or_null<T>(grad_logits_RC_),
                                               .loss = data_or_null<float>(loss_T_) + tile.begin,
                                               .is_correct = data_or_null<bool>(is_correct_T_) + tile.begin};
    call_gpu_kernel(logits_RC_, [&](device::Stream stream) { kernels::softmax_loss(arguments, stream); });
  }

  // Writes the results of the tile's rows one after the other, so not in the order of the state.
  template <typename T>
  void compute_rdrop_loss(const TileRows& tile) {
    const std::int64_t first_row = tile.passes * tile.begin;
    const kernels::RDropLoss<T> arguments = {.pairs = tile.count,
                                             .columns = vocabulary_size(),
                                             .logits = data_or_null<float>(logits_RC_),
                                             .labels = data_or_null<std::int64_t>(tensors_.labels_T) + tile.begin,
                                             .target = rule_.target,
                                             .divergence_weight = *rule_.rdrop_weight,
                                             .gradient = data_or_null<T>(grad_logits_RC_),
                                             .loss = data_or_null<float>(loss_T_) + first_row,
                                             .divergence = data_or_null<float>(divergence_T_) + tile.begin,
                                             .is_correct = data_or_null<bool>(is_correct_T_) + first_row};
    call_gpu_kernel(logits_RC_, [&](device::Stream stream) { kernels::rdrop_loss(arguments, stream); });
  }

  template <typename T>
  void add_grad_bias(std::int64_t rows) {
    const kernels::LinearGradient<T> arguments = {.rows = rows,
                                                  .columns = vocabulary_size(),
                                                  .grad_out = data_or_null<T>(grad_logits_RC_),
                                                  .relu_out = nullptr,
                                                  .dropout = {},
                                                  .grad_sum = nullptr,
                                                  .grad_bias = data_or_null<float>(tensors_.grad_bias_C)};
    call_gpu_kernel(logits_RC_, [&](device::Stream stream) {
      kernels::linear_gradient(arguments, data_or_null<float>(workspace_), stream);
    });
  }

  void write_grad_state(const TileRows& tile) {
    tile.for_passes([&](std::int64_t from, std::int64_t to) {
      multiply(grad_logits_RC_.narrow(0, from, tile.count), weight_CM_, ProductResult::kWrite,
               tensors_.grad_state_TM.narrow(0, to, tile.count));
    });
  }

  void add_grad_weight(const at::Tensor& state_RM, const TileRows& tile) {
    multiply(grad_logits_RC_.narrow(0, 0, tile.num_rows()).t(), state_RM,
             tile.begin == 0 ? ProductResult::kWrite : ProductResult::kAdd, tensors_.grad_weight_CM);
  }

  const LossTensors& tensors_;
  LossRule rule_;
  std::int64_t max_tile_rows_;
  at::ScalarType type_;  // the type of states, operands of products and gradients of logits
  at::TensorOptions floats_ = tensors_.weight_CM.options();
  at::Tensor weight_CM_, loss_T_, divergence_T_, is_correct_T_, logits_RC_, grad_logits_RC_, workspace_;
};

}  // namespace

at::Tensor run_loss_tiles_on_gpu(const LossTensors& tensors, const LossRule& rule, std::int64_t max_tile_rows) {
  TiledLossOnGpu tiles(tensors, rule, max_tile_rows);
  const std::int64_t num_tokens = tensors.state_TM.size(0);
  for_tiles(num_tokens, rule, max_tile_rows, [&](const TileRows& tile) { tiles.run(tile); });
  if (num_tokens == 0 && tensors.grad_weight_CM.defined()) tensors.grad_weight_CM.zero_();
  return tiles.sums();
}

}  // namespace edgewise
