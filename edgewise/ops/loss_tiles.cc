// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss_tiles.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/dropout/cast.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/loss/paired_loss.h"
#include "edgewise/ops/element_types.h"

namespace edgewise {
namespace {

using kernels::AlignedBytes;
using kernels::Gemm;
using kernels::MatrixLayout;

// Fewer rows would read weights and write their gradient more often; logits of more leave the cache.
constexpr std::int64_t kRowsOfTile = 256;

/// Memory that outlives a call: to get it anew from the system each time costs more than a tile.
template <typename T>
struct Workspace {
  kernels::PackedMatrix<T> project;  // weight, transposed
  kernels::PackedMatrix<T> go_back;  // weight
  AlignedBytes logits, grad_logits, state, grad_state;

  static Workspace& of_this_thread() {
    static thread_local Workspace workspace;
    return workspace;
  }
};

/// Rows of a problem that are computed together: `count` from `begin` on, and as many from `stride` further on where
/// rows are pairs.
struct TileRows {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t sides;
  std::int64_t stride;

  std::int64_t num_rows() const { return sides * count; }

  /// Calls body(first row in the tile, first row of the problem) for each run of `count` rows.
  template <class Body>
  void for_sides(Body body) const {
    for (std::int64_t side = 0; side < sides; ++side) body(side * count, side * stride + begin);
  }
};

/// A problem whose states are of type State, computed with products of type T: State itself, or float.
template <typename T, typename State>
class Tiles {
 public:
  Tiles(const LossTensors& tensors, const at::Tensor& weight_CM, const LossRule& rule)
      : tensors_(tensors),
        rule_(rule),
        num_words_(weight_CM.size(0)),
        size_(weight_CM.size(1)),
        wants_gradients_(tensors.grad_state_TM.defined() || tensors.grad_weight_CM.defined() ||
                         tensors.grad_bias_C.defined()) {
    work_.project.pack({data_or_null<float>(weight_CM), size_, MatrixLayout::kColumns}, size_, num_words_);
    if (tensors.grad_state_TM.defined()) work_.go_back.pack({data_or_null<float>(weight_CM), size_}, num_words_, size_);
  }

  void run(const TileRows& tile, LossSums& sums) {
    const std::int64_t rows = tile.num_rows();
    const T* state = state_of(tile);
    project(state, rows);
    const T* grad_logits = rule_.pair_weight ? lose_pairs(tile, sums) : lose(tile, sums);
    if (tensors_.grad_state_TM.defined()) write_grad_state(grad_logits, tile);
    if (tensors_.grad_weight_CM.defined()) add_grad_weight(grad_logits, state, tile.begin, rows);
    if (tensors_.grad_bias_C.defined()) add_grad_bias(grad_logits, rows);
  }

 private:
  const T* state_of(const TileRows& tile) {
    const State* state = data_or_null<State>(tensors_.state_TM);
    if constexpr (std::is_same_v<T, State>) {
      if (tile.sides == 1) return state + tile.begin * size_;
    }
    T* copy = work_.state.template elements<T>(tile.num_rows() * size_);
    tile.for_sides([&](std::int64_t to, std::int64_t from) {
      kernels::cast(tile.count * size_, state + from * size_, copy + to * size_);
    });
    return copy;
  }

  void project(const T* state, std::int64_t rows) {
    kernels::gemm(Gemm<T, float>{.rows = rows,
                                 .columns = num_words_,
                                 .depth = size_,
                                 .a = {state, size_},
                                 .packed_b = &work_.project,
                                 .bias = data_or_null<float>(tensors_.bias_C),
                                 .out = work_.logits.template elements<float>(rows * num_words_),
                                 .out_stride = num_words_});
  }

  // The gradient of the logits, or null.
  const T* lose(const TileRows& tile, LossSums& sums) {
    std::array<float, kRowsOfTile> loss;
    std::array<bool, kRowsOfTile> is_correct;
    float* logits = work_.logits.template elements<float>(tile.count * num_words_);
    T* gradient = wants_gradients_ ? memory_of_gradient(logits, tile.count) : nullptr;
    kernels::softmax_loss(kernels::SoftmaxLoss<T>{.rows = tile.count,
                                                  .columns = num_words_,
                                                  .logits = logits,
                                                  .labels = labels_of(tile),
                                                  .target = rule_.target,
                                                  .gradient = gradient,
                                                  .loss = loss.data(),
                                                  .is_correct = is_correct.data()});
    add(std::span(loss).first(static_cast<std::size_t>(tile.count)), is_correct, sums);
    return gradient;
  }

  // The same for pairs.
  const T* lose_pairs(const TileRows& tile, LossSums& sums) {
    std::array<float, kRowsOfTile> loss;
    std::array<float, kRowsOfTile / 2> distance;
    std::array<bool, kRowsOfTile> is_correct;
    const std::int64_t rows = tile.num_rows();
    float* logits = work_.logits.template elements<float>(rows * num_words_);
    T* gradient = wants_gradients_ ? memory_of_gradient(logits, rows) : nullptr;
    kernels::paired_loss(kernels::PairedLoss<T>{.pairs = tile.count,
                                                .columns = num_words_,
                                                .logits = logits,
                                                .labels = labels_of(tile),
                                                .target = rule_.target,
                                                .weight = *rule_.pair_weight,
                                                .gradient = gradient,
                                                .loss = loss.data(),
                                                .distance = distance.data(),
                                                .is_correct = is_correct.data()});
    add(std::span(loss).first(static_cast<std::size_t>(rows)), is_correct, sums);
    for (std::int64_t pair = 0; pair < tile.count; ++pair) {
      sums.loss += static_cast<double>(*rule_.pair_weight) * distance[static_cast<std::size_t>(pair)];
    }
    return gradient;
  }

  const std::int64_t* labels_of(const TileRows& tile) const {
    return data_or_null<std::int64_t>(tensors_.labels_T) + tile.begin;
  }

  static void add(std::span<const float> loss, const std::array<bool, kRowsOfTile>& is_correct, LossSums& sums) {
    for (const float of_row : loss) sums.loss += of_row;
    sums.correct += std::count(is_correct.begin(), is_correct.begin() + std::ssize(loss), true);
  }

  T* memory_of_gradient(float* logits, std::int64_t rows) {
    if constexpr (std::is_same_v<T, float>) {
      return logits;
    } else {
      return work_.grad_logits.template elements<T>(rows * num_words_);
    }
  }

  void write_grad_state(const T* grad_logits, const TileRows& tile) {
    State* grad_state = data_or_null<State>(tensors_.grad_state_TM);
    if constexpr (std::is_same_v<T, State>) {
      if (tile.sides == 1) return multiply_back(grad_logits, tile.count, grad_state + tile.begin * size_);
    }
    T* product = work_.grad_state.template elements<T>(tile.num_rows() * size_);
    multiply_back(grad_logits, tile.num_rows(), product);
    tile.for_sides([&](std::int64_t from, std::int64_t to) {
      kernels::cast(tile.count * size_, product + from * size_, grad_state + to * size_);
    });
  }

  void multiply_back(const T* grad_logits, std::int64_t rows, T* grad_state) {
    kernels::gemm(Gemm<T, T>{.rows = rows,
                             .columns = size_,
                             .depth = num_words_,
                             .a = {grad_logits, num_words_},
                             .packed_b = &work_.go_back,
                             .out = grad_state,
                             .out_stride = size_});
  }

  void add_grad_weight(const T* grad_logits, const T* state, std::int64_t begin, std::int64_t rows) {
    kernels::gemm(Gemm<T, float>{.rows = num_words_,
                                 .columns = size_,
                                 .depth = rows,
                                 .a = {grad_logits, num_words_, MatrixLayout::kColumns},
                                 .b = {state, size_},
                                 .result = begin == 0 ? kernels::GemmResult::kWrite : kernels::GemmResult::kAdd,
                                 .out = data_or_null<float>(tensors_.grad_weight_CM),
                                 .out_stride = size_});
  }

  void add_grad_bias(const T* grad_logits, std::int64_t rows) {
    kernels::linear_gradient(kernels::LinearGradient<T>{.rows = rows,
                                                        .columns = num_words_,
                                                        .grad_out = grad_logits,
                                                        .relu_out = nullptr,
                                                        .dropout = {},
                                                        .grad_sum = nullptr,
                                                        .grad_bias = data_or_null<float>(tensors_.grad_bias_C)});
  }

  const LossTensors& tensors_;
  LossRule rule_;
  std::int64_t num_words_;
  std::int64_t size_;
  bool wants_gradients_;
  Workspace<T>& work_ = Workspace<T>::of_this_thread();
};

template <typename T, typename State>
LossSums run_tiles(const LossTensors& tensors, const at::Tensor& weight_CM, const LossRule& rule) {
  Tiles<T, State> tiles(tensors, weight_CM, rule);
  LossSums sums;
  const std::int64_t num_tokens = tensors.state_TM.size(0);
  const std::int64_t sides = rule.pair_weight ? 2 : 1;
  const std::int64_t stride = num_tokens / sides;
  const std::int64_t most = kRowsOfTile / sides;
  for (std::int64_t begin = 0; begin < stride; begin += most) {
    tiles.run({.begin = begin, .count = std::min(most, stride - begin), .sides = sides, .stride = stride}, sums);
  }
  if (num_tokens == 0 && tensors.grad_weight_CM.defined()) tensors.grad_weight_CM.zero_();
  return sums;
}

}  // namespace

LossSums run_loss_tiles(const LossTensors& tensors, const LossRule& rule) {
  const at::Tensor& weight_CM = tensors.weight_CM;
  if (tensors.state_TM.scalar_type() == at::kFloat) return run_tiles<float, float>(tensors, weight_CM, rule);
  if (kernels::bf16_is_native()) return run_tiles<BFloat16, BFloat16>(tensors, weight_CM, rule);
  // In floats throughout, rather than cast in each of the three products.
  return run_tiles<float, BFloat16>(tensors, weight_CM.to(at::kBFloat16).to(at::kFloat), rule);
}

}  // namespace edgewise
