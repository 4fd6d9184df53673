// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/loss/logit_sums_cuda.h"
#include "edgewise/kernels/loss/softmax_loss.h"

namespace edgewise::kernels {
namespace gpu {

/// A block computes one row: first the sums, then the gradient.
template <typename Gradient>
struct SoftmaxLossRows {
  static constexpr const char* kName = "softmax_loss";
  static constexpr int kThreads = 512;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kQuads = 4;  // groups of four logits that a thread loads at a time

  struct Shared {
    WarpExpSums<kWarps> sums;
    WarpComparisons<kWarps> comparisons;
  };

  SoftmaxLoss<Gradient> p;

  EDGEWISE_DEVICE void operator()() const {
    const std::int64_t row = block_index();
    const int num_tokens = static_cast<int>(p.columns);
    const std::int64_t begin = row * num_tokens;
    const RowColumns columns(begin, num_tokens);
    if (p.labels[row] == p.target.ignored_token) return ignore(row, columns);

    const TargetRow target(p.target, static_cast<int>(p.labels[row]));
    const float* logits = p.logits + begin;
    LabelComparison comparison{.label_logit = logits[target.label]};
    const ExpSums sums = add_logits(logits, columns, target, comparison);
    if (thread_index() == 0) {
      p.loss[row] = compute_loss(p.target, num_tokens, sums, comparison);
      p.is_correct[row] = comparison.is_first && comparison.label_logit == sums.maximum;
    }
    if (p.gradient != nullptr) write_gradient(logits, columns, sums, target, p.gradient + begin);
  }

 private:
  EDGEWISE_DEVICE void ignore(std::int64_t row, const RowColumns& columns) const {
    if (thread_index() == 0) {
      p.loss[row] = 0;
      p.is_correct[row] = false;
    }
    if (p.gradient == nullptr) return;
    Gradient* gradient = p.gradient + row * p.columns;
    columns.visit<kThreads, kQuads>([&](auto part) {
      const float zeros[decltype(part)::kSize] = {};
      store_columns(zeros, part, gradient);
    });
  }

  EDGEWISE_DEVICE static ExpSums add_logits(const float* logits, const RowColumns& columns, const TargetRow& target,
                                            LabelComparison& comparison) {
    Shared& shared = shared_memory<Shared>();
    ExpSums sums;
    columns.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float logit[kSize];
      load_columns(logits, part, logit);
      sums.raise_to(logit);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        sums.sum += sums.weight(logit[i]);
        comparison.add(logit[i], part.at(i), target);
      }
    });
    shared.sums.write(sums);
    shared.comparisons.write(comparison);
    synchronize_block();  // also before the first gradient, which may overwrite a logit
    shared.comparisons.combine(comparison);
    return shared.sums.sum_of_block();
  }

  EDGEWISE_DEVICE static void write_gradient(const float* logits, const RowColumns& columns, const ExpSums& sums,
                                             const TargetRow& target, Gradient* gradient) {
    const float factor = 1 / sums.sum;
    columns.visit<kThreads, kQuads, ColumnOrder::kDescending>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float value[kSize];
      load_columns(logits, part, value);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        value[i] = fused_multiply_add(sums.weight(value[i]), factor, -target.probability(part.at(i)));
      }
      store_columns(value, part, gradient);
    });
  }
};

}  // namespace gpu

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem, device::Stream stream) {
  launch(gpu::SoftmaxLossRows<Gradient>{problem}, static_cast<int>(problem.rows), stream);
}

template void softmax_loss(const SoftmaxLoss<float>&, device::Stream);
template void softmax_loss(const SoftmaxLoss<BFloat16>&, device::Stream);

}  // namespace edgewise::kernels
