// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss_tiles.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "edgewise/kernels/aligned_bytes.h"
#include "edgewise/kernels/cast.h"
#include "edgewise/kernels/gemm.h"
#include "edgewise/kernels/linear_gradient.h"
#include "edgewise/ops/function_state.h"

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

/// Rows `begin` to `begin + rows` of a problem whose states are of type State, computed with products of type T: State
/// itself, or float.
template <typename T, typename State>
class Tiles {
 public:
  Tiles(const LossTensors& tensors, const at::Tensor& weight_CM, const kernels::SmoothedTarget& target)
      : tensors_(tensors),
        target_(target),
        num_words_(weight_CM.size(0)),
        size_(weight_CM.size(1)),
        wants_gradients_(tensors.grad_state_TM.defined() || tensors.grad_weight_CM.defined() ||
                         tensors.grad_bias_C.defined()) {
    work_.project.pack({data_or_null<float>(weight_CM), size_, MatrixLayout::kColumns}, size_, num_words_);
    if (tensors.grad_state_TM.defined()) work_.go_back.pack({data_or_null<float>(weight_CM), size_}, num_words_, size_);
  }

  void run(std::int64_t begin, std::int64_t rows, LossSums& sums) {
    const T* state = state_of(begin, rows);
    project(state, rows);
    const T* grad_logits = lose(begin, rows, sums);
    if (tensors_.grad_state_TM.defined()) write_grad_state(grad_logits, begin, rows);
    if (tensors_.grad_weight_CM.defined()) add_grad_weight(grad_logits, state, begin, rows);
    if (tensors_.grad_bias_C.defined()) add_grad_bias(grad_logits, rows);
  }

 private:
  const T* state_of(std::int64_t begin, std::int64_t rows) {
    const State* state = data_or_null<State>(tensors_.state_TM) + begin * size_;
    if constexpr (std::is_same_v<T, State>) {
      return state;
    } else {
      T* cast = work_.state.template elements<T>(rows * size_);
      kernels::cast(rows * size_, state, cast);
      return cast;
    }
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
  const T* lose(std::int64_t begin, std::int64_t rows, LossSums& sums) {
    std::array<float, kRowsOfTile> loss;
    std::array<bool, kRowsOfTile> is_correct;
    float* logits = work_.logits.template elements<float>(rows * num_words_);
    T* gradient = wants_gradients_ ? memory_of_gradient(logits, rows) : nullptr;
    kernels::softmax_loss(kernels::SoftmaxLoss<T>{.rows = rows,
                                                  .columns = num_words_,
                                                  .logits = logits,
                                                  .labels = data_or_null<std::int64_t>(tensors_.labels_T) + begin,
                                                  .target = target_,
                                                  .gradient = gradient,
                                                  .loss = loss.data(),
                                                  .is_correct = is_correct.data()});
    for (std::int64_t row = 0; row < rows; ++row) sums.loss += loss[static_cast<std::size_t>(row)];
    sums.correct += std::count(is_correct.begin(), is_correct.begin() + rows, true);
    return gradient;
  }

  T* memory_of_gradient(float* logits, std::int64_t rows) {
    if constexpr (std::is_same_v<T, float>) {
      return logits;
    } else {
      return work_.grad_logits.template elements<T>(rows * num_words_);
    }
  }

  void write_grad_state(const T* grad_logits, std::int64_t begin, std::int64_t rows) {
    State* grad_state = data_or_null<State>(tensors_.grad_state_TM) + begin * size_;
    if constexpr (std::is_same_v<T, State>) {
      multiply_back(grad_logits, rows, grad_state);
    } else {
      T* product = work_.grad_state.template elements<T>(rows * size_);
      multiply_back(grad_logits, rows, product);
      kernels::cast(rows * size_, product, grad_state);
    }
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
  kernels::SmoothedTarget target_;
  std::int64_t num_words_;
  std::int64_t size_;
  bool wants_gradients_;
  Workspace<T>& work_ = Workspace<T>::of_this_thread();
};

template <typename T, typename State>
LossSums run_tiles(const LossTensors& tensors, const at::Tensor& weight_CM, const kernels::SmoothedTarget& target) {
  Tiles<T, State> tiles(tensors, weight_CM, target);
  LossSums sums;
  const std::int64_t num_tokens = tensors.state_TM.size(0);
  for (std::int64_t begin = 0; begin < num_tokens; begin += kRowsOfTile) {
    tiles.run(begin, std::min(kRowsOfTile, num_tokens - begin), sums);
  }
  if (num_tokens == 0 && tensors.grad_weight_CM.defined()) tensors.grad_weight_CM.zero_();
  return sums;
}

}  // namespace

LossSums run_loss_tiles(const LossTensors& tensors, const kernels::SmoothedTarget& target) {
  const at::Tensor& weight_CM = tensors.weight_CM;
  if (tensors.state_TM.scalar_type() == at::kFloat) return run_tiles<float, float>(tensors, weight_CM, target);
  if (kernels::bf16_is_native()) return run_tiles<BFloat16, BFloat16>(tensors, weight_CM, target);
  // In floats throughout, rather than cast in each of the three products.
  return run_tiles<float, BFloat16>(tensors, weight_CM.to(at::kBFloat16).to(at::kFloat), target);
}

}  // namespace edgewise
