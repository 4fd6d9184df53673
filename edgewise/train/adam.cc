// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/ops/definition.h"
#include "edgewise/ops/tensor_parts.h"
#include "edgewise/train/adam_plain.h"

namespace edgewise {
namespace {

// A larger divisor, of a clip_norm near 0, does not fit into the kernel's float.
constexpr double kMaxFloat = std::numeric_limits<float>::max();

at::Tensor scalar_like(const at::Tensor& like, double value) {
  return at::full({}, value, like.options().dtype(at::kFloat));
}

// ATen has the fused update for these devices only.
bool uses_plain_update(const at::Tensor& values) { return uses_definition(values) && !values.is_cuda(); }

FlatRange intersect(const FlatRange& left, const FlatRange& right) {
  const std::int64_t begin = std::max(left.begin, right.begin);
  return {begin, std::max<std::int64_t>(std::min(left.end(), right.end()) - begin, 0)};
}

}  // namespace

Adam::Adam(const FlatParameters& parameters, const OwnedPieces& pieces, const AdamOptions& options)
    : parameters_(parameters),
      pieces_(pieces),
      options_(options),
      means_(pieces.make_array()),
      variances_(pieces.make_array()) {
  for (std::size_t bucket = 0; bucket < pieces.ranges().size(); ++bucket) {
    for (const FlatParameter& parameter : parameters.parameters()) {
      const FlatRange range = intersect(pieces.ranges()[bucket], parameter.range);
      if (range.count > 0) add_segment(range, parameter.named.tensor.dim() > 1, bucket);
    }
  }
}

void Adam::add_segment(const FlatRange& range, bool is_matrix, std::size_t bucket) {
  const FlatRange inside{range.begin - pieces_.ranges()[bucket].begin, range.count};
  segments_.push_back(
      {is_matrix,
       {take_range(parameters_.values(), range), take_range(parameters_.gradients(), range),
        take_range(pieces_.part_of(means_, bucket), inside), take_range(pieces_.part_of(variances_, bucket), inside)}});
}

void Adam::step(double learning_rate, double divisor) {
  check(divisor > 0.0, "Adam::step: divisor is {}, needs a number above 0", divisor);
  const auto options = means_.options();
  step(learning_rate, at::full({}, divisor, options.dtype(at::kDouble)), at::zeros({}, options.dtype(at::kBool)));
}

void Adam::step(double learning_rate, const at::Tensor& divisor, const at::Tensor& is_skipped) {
  ++num_steps_;
  const at::Tensor scale = divisor.clamp_max(kMaxFloat).to(at::kFloat);
  const at::Tensor found_inf = is_skipped.to(at::kFloat);  // the kernel's name for a number that is not 0 if it skips
  update(/*are_matrices=*/true, learning_rate, scale, found_inf);
  update(/*are_matrices=*/false, learning_rate, scale, found_inf);
}

void Adam::undo_skipped_step() {
  --num_steps_;
  ++num_skipped_;
}

void Adam::update(bool are_matrices, double learning_rate, const at::Tensor& scale, const at::Tensor& found_inf) {
  std::vector<at::Tensor> values, gradients, means, variances;
  for (const Segment& segment : segments_) {
    if (segment.is_matrix != are_matrices) continue;
    values.push_back(segment.tensors[0]);
    gradients.push_back(segment.tensors[1]);
    means.push_back(segment.tensors[2]);
    variances.push_back(segment.tensors[3]);
  }
  if (values.empty()) return;

  const double weight_decay = are_matrices ? options_.weight_decay : 0.0;
  if (uses_plain_update(values[0])) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      update_plain({values[i], gradients[i], means[i], variances[i]},
                   {num_steps_, learning_rate, weight_decay, scale, found_inf.to(at::kBool)}, options_);
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
                      /*maximize=*/false, scale, found_inf);
  });
}

void Adam::set_counts(std::int64_t num_steps, std::int64_t num_skipped) {
  num_steps_ = num_steps;
  num_skipped_ = num_skipped;
}

}  // namespace edgewise
