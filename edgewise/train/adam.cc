// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

// A larger divisor, of a clip_norm near 0, does not fit into the kernel's float.
constexpr double kMaxFloat = std::numeric_limits<float>::max();

at::Tensor scalar_like(const at::Tensor& like, double value) {
  return at::full({}, value, like.options().dtype(at::kFloat));
}

FlatRange intersect(const FlatRange& left, const FlatRange& right) {
  const std::int64_t begin = std::max(left.begin, right.begin);
  return {begin, std::max<std::int64_t>(std::min(left.end(), right.end()) - begin, 0)};
}

/// The numbers of an update. `divisor` is fp32 and `is_skipped` bool, both on the device of the arrays.
struct AdamUpdate {
  std::int64_t step;  // from 1
  double learning_rate;
  double weight_decay;
  at::Tensor divisor;
  at::Tensor is_skipped;  // if true, the arrays stay as they are
};

/// Defines the update of Adam in plain ATen, for any device.
void update_plain(const AdamArrays& arrays, const AdamUpdate& update, const AdamOptions& options) {
  const auto assign = [&](const at::Tensor& to, const at::Tensor& from) {
    to.copy_(at::where(update.is_skipped, to, from));
  };
  const auto step = static_cast<double>(update.step);
  assign(arrays.gradients, arrays.gradients / update.divisor);
  assign(arrays.means, options.beta1 * arrays.means + (1.0 - options.beta1) * arrays.gradients);
  assign(arrays.variances, options.beta2 * arrays.variances + (1.0 - options.beta2) * arrays.gradients.square());
  const at::Tensor mean = arrays.means / (1.0 - std::pow(options.beta1, step));
  const at::Tensor deviation = (arrays.variances / (1.0 - std::pow(options.beta2, step))).sqrt();
  assign(arrays.values, arrays.values * (1.0 - update.learning_rate * update.weight_decay) -
                            update.learning_rate * mean / (deviation + options.epsilon));
}

}  // namespace

Adam::Adam(const FlatParameters& parameters, const OwnedPieces& pieces, const AdamOptions& options)
    : parameters_(parameters),
      pieces_(pieces),
      options_(options),
      means_(pieces.make_array()),
      variances_(pieces.make_array()) {
  add_segments();
  if (means_.scalar_type() == at::kFloat && backend_of(means_) == Backend::kGpu) add_kernel_parts();
}

/// Returns the elements of a range of the flat arrays, which begin at `begin` in the owned arrays.
AdamArrays Adam::take_arrays(const FlatRange& range, std::int64_t begin) const {
  const FlatRange owned{begin, range.count};
  return {take_range(parameters_.values(), range), take_range(parameters_.gradients(), range),
          take_range(means_, owned), take_range(variances_, owned)};
}

void Adam::add_segments() {
  std::int64_t begin = 0;
  for (const FlatRange& piece : pieces_.ranges()) {
    for (const FlatParameter& parameter : parameters_.parameters()) {
      const FlatRange range = intersect(piece, parameter.range);
      if (range.count == 0) continue;
      segments_.push_back({parameter.named.tensor.dim() > 1, begin, take_arrays(range, begin)});
      begin += range.count;
    }
  }
}

void Adam::add_kernel_parts() {
  static_assert(FlatParameters::kAlignment % kElementsPerFlag == 0);
  std::vector<std::uint8_t> flags;
  for (const Segment& segment : segments_) {
    flags.resize(static_cast<std::size_t>((segment.begin + segment.arrays.values.numel()) / kElementsPerFlag),
                 segment.is_matrix ? 1 : 0);
  }
  const at::Tensor is_matrix = index_tensor(std::span<const std::uint8_t>(flags), means_.device());
  std::int64_t begin = 0;
  for (const FlatRange& range : join_neighbours(pieces_.ranges())) {
    kernel_parts_.push_back(
        {take_arrays(range, begin), take_range(is_matrix, {begin / kElementsPerFlag, range.count / kElementsPerFlag})});
    begin += range.count;
  }
}

void Adam::step(double learning_rate, double divisor) {
  check(divisor > 0.0, "Adam::step: divisor is {}, needs a number above 0", divisor);
  const auto options = means_.options();
  step(learning_rate, scalar_like(means_, std::min(divisor, kMaxFloat)), at::zeros({}, options.dtype(at::kBool)));
}

void Adam::step(double learning_rate, const at::Tensor& divisor, const at::Tensor& is_skipped) {
  ++num_steps_;
  if (!kernel_parts_.empty()) {
    // The kernel skips a step whose divisor is not finite.
    update_by_kernel(learning_rate, divisor.masked_fill(is_skipped, std::numeric_limits<double>::quiet_NaN()));
    return;
  }
  const at::Tensor found_inf = is_skipped.to(at::kFloat);  // the name in ATen of a number that is not 0 if it skips
  update(/*are_matrices=*/true, learning_rate, divisor, found_inf);
  update(/*are_matrices=*/false, learning_rate, divisor, found_inf);
}

void Adam::update_by_kernel(double learning_rate, const at::Tensor& divisor) {
  for (const KernelPart& part : kernel_parts_) {
    update_on_gpu(part.arrays, part.is_matrix,
                  {.step = num_steps_,
                   .learning_rate = learning_rate,
                   .beta1 = options_.beta1,
                   .beta2 = options_.beta2,
                   .epsilon = options_.epsilon,
                   .weight_decay = options_.weight_decay,
                   .divisor = divisor});
  }
}

void Adam::undo_skipped_step() {
  --num_steps_;
  ++num_skipped_;
}

void Adam::update(bool are_matrices, double learning_rate, const at::Tensor& divisor, const at::Tensor& found_inf) {
  std::vector<at::Tensor> values, gradients, means, variances;
  for (const Segment& segment : segments_) {
    if (segment.is_matrix != are_matrices) continue;
    values.push_back(segment.arrays.values);
    gradients.push_back(segment.arrays.gradients);
    means.push_back(segment.arrays.means);
    variances.push_back(segment.arrays.variances);
  }
  if (values.empty()) return;

  const double weight_decay = are_matrices ? options_.weight_decay : 0.0;
  // ATen has the fused update for the CPU and for GPUs of CUDA only.
  if (!values[0].is_cuda() && backend_of(values[0], /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      update_plain({values[i], gradients[i], means[i], variances[i]},
                   {num_steps_, learning_rate, weight_decay, divisor, found_inf.to(at::kBool)}, options_);
    }
    return;
  }
  const at::Tensor num_steps = scalar_like(values[0], static_cast<double>(num_steps_));
  const auto take_parts = [](const std::vector<at::Tensor>& tensors, std::span<const TensorPart> parts) {
    std::vector<at::Tensor> taken;
    for (const TensorPart& part : parts) taken.push_back(take_part(tensors, part));
    return taken;
  };
  parallel_parts(split_tensors(values), [&](std::span<const TensorPart> parts) {
    at::_fused_adamw_(take_parts(values, parts), take_parts(gradients, parts), take_parts(means, parts),
                      take_parts(variances, parts), /*max_exp_avg_sqs=*/{}, std::vector(parts.size(), num_steps),
                      learning_rate, options_.beta1, options_.beta2, weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, divisor, found_inf);
  });
}

void Adam::set_counts(std::int64_t num_steps, std::int64_t num_skipped) {
  num_steps_ = num_steps;
  num_skipped_ = num_skipped;
}

}  // namespace edgewise
