// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss_tiles.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/matrix_product.h"

// Shapes: T = tokens, R = rows of a tile, P = pairs of a tile, M = size of a state, C = vocabulary.
namespace edgewise {
namespace {

/// The rows of one tile: `count` rows of the state from `begin`; with two passes also their pairs, `stride` rows below.
struct TileRows {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t passes;  // 1, or 2 with R-Drop and SimCut
  std::int64_t stride;

  std::int64_t num_rows() const { return passes * count; }

  /// Calls body(row in the tile, row of the state) for the first row of each pass.
  template <class Body>
  void for_passes(Body body) const {
    for (std::int64_t pass = 0; pass < passes; ++pass) body(pass * count, pass * stride + begin);
  }
};

/// Calls run(TileRows) for tiles of at most `max_rows` rows, which together have all rows of the state.
template <class Run>
void for_tiles(std::int64_t num_tokens, const LossRule& rule, std::int64_t max_rows, Run run) {
  const std::int64_t passes = rule.consistency ? 2 : 1;
  const std::int64_t stride = num_tokens / passes;
  const std::int64_t max_count = max_rows / passes;
  for (std::int64_t begin = 0; begin < stride; begin += max_count) {
    run(TileRows{.begin = begin, .count = std::min(max_count, stride - begin), .passes = passes, .stride = stride});
  }
}

using kernels::AlignedBuffer;
using kernels::Gemm;
using kernels::MatrixLayout;

// Fewer rows per tile would read the weight and write its gradient more often; with more rows, a tile's logits would
// not fit into the cache.
constexpr std::int64_t kTileRows = 256;

/// Memory that a thread reuses in each call: allocating it anew would cost more than computing a tile.
template <typename T>
struct Workspace {
  kernels::PackedMatrix<T> packed_transpose;  // weight, transposed: state to logits
  kernels::PackedMatrix<T> packed_weight;     // weight: gradient of the logits to gradient of the state
  AlignedBuffer logits, grad_logits, state, grad_state;

  static Workspace& for_this_thread() {
    static thread_local Workspace workspace;
    return workspace;
  }
};

/// The memory of the logits of a tile, and of the results of its rows.
template <typename T>
struct TileResults {
  float* logits;      // [R, C], overwritten
  T* gradient;        // [R, C], or null
  float* loss;        // [R]
  float* divergence;  // [P], with two passes only
  bool* is_correct;   // [R]
};

/// Computes the losses of a tile from its logits, and the gradient of the logits; on a GPU with a stream.
template <typename T, class... Stream>
void compute_losses(const LossTensors& tensors, const LossRule& rule, const TileRows& tile, const TileResults<T>& to,
                    Stream... stream) {
  const std::int64_t vocabulary_size = tensors.weight_CM.size(0);
  const std::int64_t* labels = data_or_null<std::int64_t>(tensors.labels_T) + tile.begin;
  if (rule.consistency) {
    kernels::consistency_loss(
        kernels::ConsistencyLoss<T>{.pairs = tile.count,
                                    .columns = vocabulary_size,
                                    .logits = to.logits,
                                    .labels = labels,
                                    .target = rule.target,
                                    .kind = rule.consistency->kind,
                                    .divergence_weight = static_cast<float>(rule.consistency->weight),
                                    .gradient = to.gradient,
                                    .loss = to.loss,
                                    .divergence = to.divergence,
                                    .is_correct = to.is_correct},
        stream...);
  } else {
    kernels::softmax_loss(kernels::SoftmaxLoss<T>{.rows = tile.count,
                                                  .columns = vocabulary_size,
                                                  .logits = to.logits,
                                                  .labels = labels,
                                                  .target = rule.target,
                                                  .gradient = to.gradient,
                                                  .loss = to.loss,
                                                  .is_correct = to.is_correct},
                          stream...);
  }
}

/// Computes the loss of states of type State with products of type T, which is State or float.
template <typename T, typename State>
class TiledLoss {
 public:
  TiledLoss(const LossTensors& tensors, const at::Tensor& weight_CM, const LossRule& rule)
      : tensors_(tensors),
        rule_(rule),
        vocabulary_size_(weight_CM.size(0)),
        size_(weight_CM.size(1)),
        needs_gradients_(tensors.grad_state_TM.defined() || tensors.grad_weight_CM.defined() ||
                         tensors.grad_bias_C.defined()) {
    work_.packed_transpose.pack({data_or_null<float>(weight_CM), size_, MatrixLayout::kColumns}, size_,
                                vocabulary_size_);
    if (tensors.grad_state_TM.defined())
      work_.packed_weight.pack({data_or_null<float>(weight_CM), size_}, vocabulary_size_, size_);
  }

  void run(const TileRows& tile, LossSums& sums) {
    const std::int64_t rows = tile.num_rows();
    const T* state = gather_state(tile);
    project(state, rows);
    const T* grad_logits = compute_loss(tile, sums);
    if (tensors_.grad_state_TM.defined()) write_grad_state(grad_logits, tile);
    if (tensors_.grad_weight_CM.defined()) add_grad_weight(grad_logits, state, tile.begin, rows);
    if (tensors_.grad_bias_C.defined()) add_grad_bias(grad_logits, rows);
  }

 private:
  const T* gather_state(const TileRows& tile) {
    const State* state = data_or_null<State>(tensors_.state_TM);
    if constexpr (std::is_same_v<T, State>) {
      if (tile.passes == 1) return state + tile.begin * size_;
    }
    T* copy = work_.state.template elements<T>(tile.num_rows() * size_);
    tile.for_passes([&](std::int64_t to, std::int64_t from) {
      kernels::cast(tile.count * size_, state + from * size_, copy + to * size_);
    });
    return copy;
  }

  void project(const T* state, std::int64_t rows) {
    kernels::gemm(Gemm<T, float>{.rows = rows,
                                 .columns = vocabulary_size_,
                                 .depth = size_,
                                 .a = {state, size_},
                                 .packed_b = &work_.packed_transpose,
                                 .bias = data_or_null<float>(tensors_.bias_C),
                                 .out = work_.logits.template elements<float>(rows * vocabulary_size_),
                                 .out_stride = vocabulary_size_});
  }

  // Adds the loss of a tile to `sums` and returns the gradient of the logits, or null if no gradient is needed.
  const T* compute_loss(const TileRows& tile, LossSums& sums) {
    std::array<float, kTileRows> loss;
    std::array<float, kTileRows / 2> divergence;
    std::array<bool, kTileRows> is_correct;
    const std::int64_t rows = tile.num_rows();
    float* logits = work_.logits.template elements<float>(rows * vocabulary_size_);
    T* gradient = needs_gradients_ ? gradient_buffer(logits, rows) : nullptr;
    compute_losses<T>(tensors_, rule_, tile, {logits, gradient, loss.data(), divergence.data(), is_correct.data()});
    for (const float row_loss : std::span(loss).first(static_cast<std::size_t>(rows))) sums.loss += row_loss;
    sums.correct += std::count(is_correct.begin(), is_correct.begin() + rows, true);
    if (!rule_.consistency) return gradient;
    for (const float of_pair : std::span(divergence).first(static_cast<std::size_t>(tile.count))) {
      sums.loss += rule_.consistency->weight * of_pair;
    }
    return gradient;
  }

  T* gradient_buffer(float* logits, std::int64_t rows) {
    if constexpr (std::is_same_v<T, float>) {
      return logits;
    } else {
      return work_.grad_logits.template elements<T>(rows * vocabulary_size_);
    }
  }

  void write_grad_state(const T* grad_logits, const TileRows& tile) {
    State* grad_state = data_or_null<State>(tensors_.grad_state_TM);
    if constexpr (std::is_same_v<T, State>) {
      if (tile.passes == 1) return multiply_by_weight(grad_logits, tile.count, grad_state + tile.begin * size_);
    }
    T* product = work_.grad_state.template elements<T>(tile.num_rows() * size_);
    multiply_by_weight(grad_logits, tile.num_rows(), product);
    tile.for_passes([&](std::int64_t from, std::int64_t to) {
      kernels::cast(tile.count * size_, product + from * size_, grad_state + to * size_);
    });
  }

  void multiply_by_weight(const T* grad_logits, std::int64_t rows, T* grad_state) {
    kernels::gemm(Gemm<T, T>{.rows = rows,
                             .columns = size_,
                             .depth = vocabulary_size_,
                             .a = {grad_logits, vocabulary_size_},
                             .packed_b = &work_.packed_weight,
                             .out = grad_state,
                             .out_stride = size_});
  }

  void add_grad_weight(const T* grad_logits, const T* state, std::int64_t begin, std::int64_t rows) {
    kernels::gemm(Gemm<T, float>{.rows = vocabulary_size_,
                                 .columns = size_,
                                 .depth = rows,
                                 .a = {grad_logits, vocabulary_size_, MatrixLayout::kColumns},
                                 .b = {state, size_},
                                 .result = begin == 0 ? kernels::GemmResult::kWrite : kernels::GemmResult::kAdd,
                                 .out = data_or_null<float>(tensors_.grad_weight_CM),
                                 .out_stride = size_});
  }

  void add_grad_bias(const T* grad_logits, std::int64_t rows) {
    kernels::activation_gradient(
        kernels::ActivationGradient<T>{.rows = rows,
                                       .columns = vocabulary_size_,
                                       .grad_out = grad_logits,
                                       .grad_bias = data_or_null<float>(tensors_.grad_bias_C)});
  }

  const LossTensors& tensors_;
  LossRule rule_;
  std::int64_t vocabulary_size_;
  std::int64_t size_;
  bool needs_gradients_;
  Workspace<T>& work_ = Workspace<T>::for_this_thread();
};

template <typename T, typename State>
LossSums run_tiles(const LossTensors& tensors, const at::Tensor& weight_CM, const LossRule& rule) {
  TiledLoss<T, State> tiles(tensors, weight_CM, rule);
  const std::int64_t num_tokens = tensors.state_TM.size(0);
  LossSums sums{.tokens = count_tokens(num_tokens, rule.consistency)};
  for_tiles(num_tokens, rule, kTileRows, [&](const TileRows& tile) { tiles.run(tile, sums); });
  if (num_tokens == 0 && tensors.grad_weight_CM.defined()) tensors.grad_weight_CM.zero_();
  return sums;
}

class TiledLossOnGpu {
 public:
  TiledLossOnGpu(const LossTensors& tensors, const LossRule& rule, std::int64_t max_tile_rows)
      : tensors_(tensors),
        rule_(rule),
        max_tile_rows_(std::min(max_tile_rows, tensors.state_TM.size(0))),
        type_(tensors.state_TM.scalar_type()),
        weight_CM_(tensors.weight_CM.to(type_)),
        loss_T_(floats({num_tokens()})),
        divergence_T_(floats({rule.consistency ? num_tokens() / 2 : 0})),
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
      compute_loss<T>(tile);
      if (tensors_.grad_bias_C.defined()) add_grad_bias<T>(tile.num_rows());
    });
    if (tensors_.grad_state_TM.defined()) write_grad_state(tile);
    if (tensors_.grad_weight_CM.defined()) add_grad_weight(state_RM, tile);
  }

  /// Returns the loss and the number of correct tokens of all tiles.
  at::Tensor sums() const {
    at::Tensor loss = loss_T_.sum(at::kDouble);
    if (rule_.consistency) loss += divergence_T_.sum(at::kDouble) * rule_.consistency->weight;
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

  // Writes the results of the tile's rows one after the other, so with two passes not in the order of the state.
  template <typename T>
  void compute_loss(const TileRows& tile) {
    const std::int64_t first_row = tile.passes * tile.begin;
    const TileResults<T> to = {
        .logits = data_or_null<float>(logits_RC_),
        .gradient = data_or_null<T>(grad_logits_RC_),
        .loss = data_or_null<float>(loss_T_) + first_row,
        .divergence = rule_.consistency ? data_or_null<float>(divergence_T_) + tile.begin : nullptr,
        .is_correct = data_or_null<bool>(is_correct_T_) + first_row};
    call_kernel(logits_RC_, [&](device::Stream stream) { compute_losses(tensors_, rule_, tile, to, stream); });
  }

  template <typename T>
  void add_grad_bias(std::int64_t rows) {
    const kernels::ActivationGradient<T> arguments = {.rows = rows,
                                                      .columns = vocabulary_size(),
                                                      .grad_out = data_or_null<T>(grad_logits_RC_),
                                                      .grad_bias = data_or_null<float>(tensors_.grad_bias_C)};
    call_kernel(logits_RC_, [&](device::Stream stream) {
      kernels::activation_gradient(arguments, data_or_null<float>(workspace_), stream);
    });
  }

  void write_grad_state(const TileRows& tile) {
    tile.for_passes([&](std::int64_t from, std::int64_t to) {
      multiply(grad_logits_RC_.narrow(0, from, tile.count), weight_CM_, kernels::GemmResult::kWrite,
               tensors_.grad_state_TM.narrow(0, to, tile.count));
    });
  }

  void add_grad_weight(const at::Tensor& state_RM, const TileRows& tile) {
    multiply(grad_logits_RC_.narrow(0, 0, tile.num_rows()).t(), state_RM,
             tile.begin == 0 ? kernels::GemmResult::kWrite : kernels::GemmResult::kAdd, tensors_.grad_weight_CM);
  }

  const LossTensors& tensors_;
  LossRule rule_;
  std::int64_t max_tile_rows_;
  at::ScalarType type_;  // the type of states, operands of products and gradients of logits
  at::TensorOptions floats_ = tensors_.weight_CM.options();
  at::Tensor weight_CM_, loss_T_, divergence_T_, is_correct_T_, logits_RC_, grad_logits_RC_, workspace_;
};

}  // namespace

std::int64_t count_tokens(std::int64_t num_rows, const std::optional<Consistency>& consistency) {
  return consistency && consistency->kind == kernels::ConsistencyKind::kSimCut ? num_rows / 2 : num_rows;
}

LossSums run_loss_tiles(const LossTensors& tensors, const LossRule& rule) {
  const at::Tensor& weight_CM = tensors.weight_CM;
  if (tensors.state_TM.scalar_type() == at::kFloat) return run_tiles<float, float>(tensors, weight_CM, rule);
  if (kernels::has_native_bf16()) return run_tiles<BFloat16, BFloat16>(tensors, weight_CM, rule);
  // Without bf16 instructions each of the three products would cast its operands, so the state is cast once.
  return run_tiles<float, BFloat16>(tensors, weight_CM.to(at::kBFloat16).to(at::kFloat), rule);
}

at::Tensor run_loss_tiles_on_gpu(const LossTensors& tensors, const LossRule& rule, std::int64_t max_tile_rows) {
  TiledLossOnGpu tiles(tensors, rule, max_tile_rows);
  const std::int64_t num_tokens = tensors.state_TM.size(0);
  for_tiles(num_tokens, rule, max_tile_rows, [&](const TileRows& tile) { tiles.run(tile); });
  if (num_tokens == 0 && tensors.grad_weight_CM.defined()) tensors.grad_weight_CM.zero_();
  return tiles.sums();
}

}  // namespace edgewise
