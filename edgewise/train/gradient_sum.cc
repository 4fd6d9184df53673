// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/gradient_sum.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <bit>

#include "edgewise/base/error.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/optimiser.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

class CallHook : public torch::autograd::FunctionPostHook {
 public:
  explicit CallHook(std::function<void()> call) : call_(std::move(call)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    call_();
    return outputs;
  }

 private:
  std::function<void()> call_;
};

/// Calls fn with the views of tensors of equal size, on several threads.
void for_each_part(const std::vector<at::Tensor>& tensors, auto fn) {
  parallel_parts(split_tensors({tensors.front()}), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      std::vector<at::Tensor> views;
      views.reserve(tensors.size());
      for (const at::Tensor& tensor : tensors) views.push_back(take_range(tensor, {part.begin, part.count}));
      fn(views);
    }
  });
}

bool is_power_of_two(std::int64_t number) {
  return number >= 1 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

}  // namespace

// The node that accumulates a leaf's gradient runs once in a pass, after all functions that add to the gradient, also
// those that add in place (gradients_in_place.h).
GradientHooks::GradientHooks(const std::vector<NamedTensor>& parameters, std::function<void(std::size_t)> on_complete)
    : on_complete_(std::move(on_complete)) {
  hooks_.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(parameters[i].tensor);
    const std::uintptr_t key = node->add_post_hook(std::make_unique<CallHook>([this, i] { call(i); }));
    hooks_.emplace_back(std::move(node), key);
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& [node, key] : hooks_) node->del_post_hook(key);
}

void GradientHooks::call(std::size_t parameter) {
  if (error_) return;
  try {
    on_complete_(parameter);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void GradientHooks::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

GradientSum::GradientSum(const FlatParameters& parameters, const OwnedPieces& pieces, GradientExchange exchange)
    : parameters_(parameters), pieces_(pieces), processes_(pieces.processes()), exchange_(exchange) {
  const std::int64_t ranks = parameters.pieces();
  check(is_power_of_two(ranks) && is_power_of_two(processes_.size()),
        "GradientSum: {} virtual ranks have {} processes, needs powers of two", ranks, processes_.size());
  num_own_ranks_ = ranks / processes_.size();
}

void GradientSum::clear() {
  for_each_part({parameters_.gradients()}, [](const std::vector<at::Tensor>& part) { part[0].zero_(); });
  num_ended_ = 0;
  num_waiting_buckets_ = parameters_.buckets().size();
  exchanges_.clear();
}

/// Rounds the sum of `num_ranks` virtual ranks, unless it is the root of the tree.
void GradientSum::round_summand(const at::Tensor& sum, std::int64_t num_ranks) const {
  if (exchange_ == GradientExchange::kFp32 || num_ranks == parameters_.pieces()) return;
  for_each_part({sum}, [](const std::vector<at::Tensor>& part) { part[0].copy_(part[0].to(at::kBFloat16)); });
}

/// Adds a summand of the tree to another; `num_ranks` is the number of virtual ranks of their sum.
void GradientSum::add_summand(const at::Tensor& sum, const at::Tensor& summand, std::int64_t num_ranks) const {
  for_each_part({sum, summand}, [](const std::vector<at::Tensor>& parts) { parts[0].add_(parts[1]); });
  round_summand(sum, num_ranks);
}

void GradientSum::end_virtual_rank() {
  const at::Tensor& gradients = parameters_.gradients();
  round_summand(gradients, 1);
  std::size_t level = 0;
  for (; ((num_ended_ >> level) & 1) != 0; ++level) add_summand(gradients, sums_[level], std::int64_t{2} << level);
  if (level == sums_.size()) sums_.push_back(at::empty_like(gradients));
  for_each_part({gradients, sums_[level]}, [](const std::vector<at::Tensor>& parts) {
    parts[1].copy_(parts[0]);
    parts[0].zero_();
  });
  ++num_ended_;
}

void GradientSum::exchange_from(std::int64_t begin) {
  while (num_waiting_buckets_ > 0 && parameters_.buckets()[num_waiting_buckets_ - 1].begin >= begin) {
    begin_exchange(--num_waiting_buckets_);
  }
}

/// Completes the process's subtree of a bucket, and sends it piece by piece to the owners.
void GradientSum::begin_exchange(std::size_t bucket) {
  const FlatRange& range = parameters_.buckets()[bucket];
  const at::Tensor sum = take_range(parameters_.gradients(), range);
  round_summand(sum, 1);
  for (std::int64_t level = 0; (std::int64_t{1} << level) < num_own_ranks_; ++level) {
    add_summand(sum, take_range(sums_[static_cast<std::size_t>(level)], range), std::int64_t{2} << level);
  }
  if (processes_.size() == 1) return;
  const at::Tensor sent = exchange_ == GradientExchange::kBf16 ? sum.to(at::kBFloat16) : sum;
  Exchange exchange{.bucket = bucket, .sent = sent, .received = at::empty_like(sent), .pending = nullptr};
  exchange.pending = processes_.begin_all_to_all(exchange.sent, exchange.received);
  exchanges_.push_back(std::move(exchange));
}

/// Sums the received subtrees of a bucket in the order of the tree.
void GradientSum::end_exchange(Exchange& exchange) const {
  exchange.pending->wait();
  const at::Tensor sums = exchange.received.to(parameters_.gradients().scalar_type()).view({processes_.size(), -1});
  for (std::int64_t width = 1; width < processes_.size(); width *= 2) {
    for (std::int64_t i = 0; i < processes_.size(); i += 2 * width) {
      add_summand(sums[i], sums[i + width], 2 * width * num_own_ranks_);
    }
  }
  take_range(parameters_.gradients(), pieces_.ranges()[exchange.bucket]).copy_(sums[0]);
}

void GradientSum::finish() {
  exchange_from(0);
  for (Exchange& exchange : exchanges_) end_exchange(exchange);
  exchanges_.clear();
}

/// Returns the parts of the owned gradients whose squares are summed one part after the other: the pieces, which are
/// the same for any number of processes.
std::vector<at::Tensor> GradientSum::owned_pieces() const {
  std::vector<at::Tensor> pieces;
  for (const FlatRange& range : pieces_.ranges()) {
    for (const at::Tensor& piece : take_range(parameters_.gradients(), range).chunk(num_own_ranks_)) {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

at::Tensor GradientSum::sum_of_squares() const {
  const at::NoGradGuard no_gradients;
  const at::Tensor& gradients = parameters_.gradients();
  const bool is_on_gpu = backend_of(gradients) == Backend::kGpu;
  // One virtual rank has one process. Then a GPU sums all gradients at once, instead of bucket after bucket.
  if (is_on_gpu && parameters_.pieces() == 1) return sums_of_squares({gradients})[0];
  const at::Tensor own = sums_of_squares(owned_pieces());
  at::Tensor squares = at::empty({processes_.size(), std::ssize(parameters_.buckets()), num_own_ranks_}, own.options());
  processes_.all_gather(own, squares);
  // The order of buckets and pieces, whoever owns them. On the CPU, a cumulative sum adds one number after the other,
  // and a sum is not the same on all processors; on a GPU, only the sum has the same bits in every run.
  const at::Tensor ordered = squares.permute({1, 0, 2}).reshape({-1});
  return is_on_gpu ? ordered.sum() : ordered.cumsum(0)[-1];
}

}  // namespace edgewise
