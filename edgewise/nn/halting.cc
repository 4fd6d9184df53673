// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/halting.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

HaltingUnit::HaltingUnit(const LayerOptions& options, double bias, RandomStream& random)
    : norm(options), linear(options.size, 1, Bias::kZero, random) {
  linear.bias.detach().fill_(bias);
}

at::Tensor HaltingUnit::logits(const at::Tensor& x_AM) const { return linear(norm(x_AM)).squeeze(-1); }

at::Tensor HaltingUnit::operator()(const at::Tensor& x_AM) const { return at::sigmoid(logits(x_AM)); }

HaltingState::HaltingState(std::int64_t num_nodes, double epsilon)
    : active_(static_cast<std::size_t>(num_nodes)),
      steps_(static_cast<std::size_t>(num_nodes), 0),
      sums_(static_cast<std::size_t>(num_nodes), 0.0),
      threshold_(1.0 - epsilon) {
  std::iota(active_.begin(), active_.end(), 0);
}

HaltingState::Step HaltingState::step(const at::Tensor& halting_A, bool is_last) {
  check(halting_A.dim() == 1 && halting_A.size(0) == std::ssize(active_),
        "HaltingState::step: halting has {} probabilities, needs one for each of {} active nodes", halting_A.numel(),
        active_.size());
  const std::vector<double> probability = read_numbers(halting_A);
  at::Tensor halts_A = at::empty({halting_A.size(0)}, at::kBool);
  bool* halts = halts_A.mutable_data_ptr<bool>();

  Step step;
  std::vector<NodeIndex> still_active;
  std::vector<double> sums;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto row = static_cast<NodeIndex>(i);
    const double sum = sums_[i] + probability[i];
    ++steps_[static_cast<std::size_t>(active_[i])];
    halts[i] = is_last || sum >= threshold_;
    (halts[i] ? step.halting : step.continuing).push_back(row);
    if (halts[i]) continue;
    still_active.push_back(active_[i]);
    sums.push_back(sum);
  }

  if (!remaining_A_.defined()) remaining_A_ = at::ones_like(halting_A);
  step.weight_A = at::where(copy_to_device(halts_A, halting_A.device()), remaining_A_, halting_A);
  if (!step.halting.empty()) {
    const at::Tensor remainder = take_rows(remaining_A_, step.halting).sum();
    remainder_sum_ = remainder_sum_.defined() ? remainder_sum_ + remainder : remainder;
  }
  remaining_A_ = take_rows(remaining_A_ - halting_A, step.continuing);
  active_ = std::move(still_active);
  sums_ = std::move(sums);
  return step;
}

at::Tensor HaltingState::cost() const {
  const auto steps = std::accumulate(steps_.begin(), steps_.end(), std::int64_t{0});
  check(remainder_sum_.defined() || steps == 0, "HaltingState::cost: no node has halted, needs the last step");
  return remainder_sum_.defined() ? remainder_sum_ + static_cast<double>(steps) : at::tensor(0.0);
}

}  // namespace edgewise
