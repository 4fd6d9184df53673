// SPDX-License-Identifier: Apache-2.0

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

/// A block computes one pair of rows: first the sums of both, then the gradients. With the difference d of the logits
/// of a token, each less the logit of its row's label, `weighted` of a row becomes the sum of exp(logit - maximum) d.
template <typename Gradient>
struct ConsistencyLossPairs {
  static constexpr const char* kName = "consistency_loss";
  static constexpr int kThreads = 512;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kQuads = 2;  // groups of four logits that a thread loads at a time, from each row

  struct Shared {
    WarpExpSums<kWarps> sums[2];
    WarpComparisons<kWarps> comparisons[2];
  };

  ConsistencyLoss<Gradient> p;

  EDGEWISE_DEVICE void operator()() const {
    const std::int64_t pair = block_index();
    const int num_tokens = static_cast<int>(p.columns);
    const bool are_aligned_alike = (p.pairs * num_tokens) % 4 == 0;
    const RowColumns columns(pair * num_tokens, num_tokens, are_aligned_alike);
    if (p.labels[pair] == p.target.ignored_token) return ignore(columns);

    const TargetRow target(p.target, static_cast<int>(p.labels[pair]));
    LabelComparison first{.label_logit = logits(0)[target.label]};
    LabelComparison second{.label_logit = logits(1)[target.label]};
    add_logits(columns, target, first, second);
    const Shared& shared = shared_memory<Shared>();
    const ExpSums first_sums = shared.sums[0].sum_of_block();
    const ExpSums second_sums = shared.sums[1].sum_of_block();
    if (thread_index() == 0) {
      write_row(0, first_sums, first);
      write_row(1, second_sums, second);
      const float first_mean = first_sums.weighted / first_sums.sum;
      p.divergence[pair] =
          has_rdrop() ? (first_mean - second_sums.weighted / second_sums.sum) / 2
                      : first_mean + (log_probability(first, first_sums) - log_probability(second, second_sums));
    }
    if (p.gradient == nullptr) return;
    write_gradients(columns, target, {first_sums, first.label_logit}, {second_sums, second.label_logit});
  }

 private:
  EDGEWISE_DEVICE bool has_rdrop() const { return p.kind == ConsistencyKind::kRDrop; }
  EDGEWISE_DEVICE std::int64_t row(int side) const { return side * p.pairs + block_index(); }
  EDGEWISE_DEVICE const float* logits(int side) const { return p.logits + row(side) * p.columns; }
  EDGEWISE_DEVICE Gradient* gradient(int side) const { return p.gradient + row(side) * p.columns; }

  EDGEWISE_DEVICE void ignore(const RowColumns& columns) const {
    if (thread_index() == 0) {
      p.divergence[block_index()] = 0;
      for (int side = 0; side < 2; ++side) {
        p.loss[row(side)] = 0;
        p.is_correct[row(side)] = false;
      }
    }
    if (p.gradient == nullptr) return;
    columns.visit<kThreads, kQuads>([&](auto part) {
      const float zeros[decltype(part)::kSize] = {};
      store_columns(zeros, part, gradient(0));
      store_columns(zeros, part, gradient(1));
    });
  }

  EDGEWISE_DEVICE void add_logits(const RowColumns& columns, const TargetRow& target, LabelComparison& first,
                                  LabelComparison& second) const {
    Shared& shared = shared_memory<Shared>();
    ExpSums first_sums;
    ExpSums second_sums;
    columns.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float first_logit[kSize];
      float second_logit[kSize];
      load_columns(logits(0), part, first_logit);
      load_columns(logits(1), part, second_logit);
      first_sums.raise_to(first_logit);
      second_sums.raise_to(second_logit);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        const float d = (first_logit[i] - first.label_logit) - (second_logit[i] - second.label_logit);
        add(first_logit[i], d, first_sums);
        add(second_logit[i], d, second_sums);
        first.add(first_logit[i], part.at(i), target);
        second.add(second_logit[i], part.at(i), target);
      }
    });
    shared.sums[0].write(first_sums);
    shared.sums[1].write(second_sums);
    shared.comparisons[0].write(first);
    shared.comparisons[1].write(second);
    synchronize_block();  // also before the first gradient, which may overwrite a logit
    shared.comparisons[0].combine(first);
    shared.comparisons[1].combine(second);
  }

  EDGEWISE_DEVICE static void add(float logit, float d, ExpSums& sums) {
    const float weight = sums.weight(logit);
    sums.sum += weight;
    sums.weighted = fused_multiply_add(weight, d, sums.weighted);
  }

  /// Returns the log-probability of the label.
  EDGEWISE_DEVICE static float log_probability(const LabelComparison& row, const ExpSums& sums) {
    return row.label_logit - sums.maximum - log_approximate(sums.sum);
  }

  EDGEWISE_DEVICE void write_row(int side, const ExpSums& sums, const LabelComparison& comparison) const {
    if (side == 1 && !has_rdrop()) {
      p.loss[row(side)] = 0;
      p.is_correct[row(side)] = false;
      return;
    }
    p.loss[row(side)] = compute_loss(p.target, static_cast<int>(p.columns), sums, comparison);
    p.is_correct[row(side)] = comparison.is_first && comparison.label_logit == sums.maximum;
  }

  /// The sums of a row from which its gradient is computed.
  struct GradientRow {
    ExpSums sums;
    float label_logit;
    float factor;  // times exp(logit - maximum) is a probability
    float mean;    // the expected value of d

    EDGEWISE_DEVICE GradientRow(const ExpSums& row_sums, float logit_of_label)
        : sums(row_sums), label_logit(logit_of_label), factor(1 / sums.sum), mean(sums.weighted * factor) {}
  };

  /// Writes the gradients with respect to the logits, where p and q are the probabilities of the first and the second
  /// row, and E_p and E_q expected values:
  ///
  ///     R-Drop   first row    p - target + weight / 2 (p - q + p (d - E_p[d]))
  ///              second row   q - target + weight / 2 (q - p - q (d - E_q[d]))
  ///     SimCut   first row    p - target + weight p (d - E_p[d])
  ///              second row   weight (q - p)
  EDGEWISE_DEVICE void write_gradients(const RowColumns& columns, const TargetRow& target, const GradientRow& first,
                                       const GradientRow& second) const {
    const bool is_rdrop = has_rdrop();
    const float half_weight = p.divergence_weight / 2;
    columns.visit<kThreads, kQuads, ColumnOrder::kDescending>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float first_value[kSize];
      float second_value[kSize];
      load_columns(logits(0), part, first_value);
      load_columns(logits(1), part, second_value);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        const float d = (first_value[i] - first.label_logit) - (second_value[i] - second.label_logit);
        const float first_p = first.sums.weight(first_value[i]) * first.factor;
        const float second_p = second.sums.weight(second_value[i]) * second.factor;
        const float p_minus_q = first_p - second_p;
        const float goal = target.probability(part.at(i));
        if (is_rdrop) {
          const float first_term = fused_multiply_add(first_p, d - first.mean, p_minus_q);
          const float second_term = fused_multiply_add(second_p, d - second.mean, p_minus_q);
          first_value[i] = fused_multiply_add(half_weight, first_term, first_p - goal);
          second_value[i] = fused_multiply_add(-half_weight, second_term, second_p - goal);
        } else {
          first_value[i] = fused_multiply_add(p.divergence_weight, first_p * (d - first.mean), first_p - goal);
          second_value[i] = -p.divergence_weight * p_minus_q;
        }
      }
      store_columns(first_value, part, gradient(0));
      store_columns(second_value, part, gradient(1));
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

template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& problem, device::Stream stream) {
  launch(gpu::ConsistencyLossPairs<Gradient>{problem}, static_cast<int>(problem.pairs), stream);
}

template void consistency_loss(const ConsistencyLoss<float>&, device::Stream);
template void consistency_loss(const ConsistencyLoss<BFloat16>&, device::Stream);

}  // namespace edgewise::kernels
