// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "edgewise/nn/module.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/flat_parameters.h"

namespace torch::autograd {
struct Node;
}

namespace edgewise {

/// Calls a function in backward passes, when the gradient of a parameter is complete, with the number of the parameter.
/// Parameters that a pass does not reach have no call. Not thread-safe.
class GradientHooks {
 public:
  GradientHooks(const std::vector<NamedTensor>& parameters, std::function<void(std::size_t)> on_complete);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

  /// Throws the first exception of the function, after which the function was not called again. Autograd would change
  /// the type of an exception that passes through it.
  void rethrow() const;

 private:
  void call(std::size_t parameter);

  std::function<void(std::size_t)> on_complete_;
  std::exception_ptr error_;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

/// Sums the gradients of all virtual ranks as a fixed binary tree: of ranks 0 and 1, 2 and 3, … then of these sums, and
/// so on. The numbers of virtual ranks and of processes are powers of two, so that the ranks of a process are the
/// leaves of a subtree, and the sum has the same bits for any number of processes. With GradientExchange::kBf16, each
/// summand of the tree is rounded to bf16, in all processes and wherever it is summed.
///
///     sum.clear();
///     for (each virtual rank of the process but the last) { backward passes…; sum.end_virtual_rank(); }
///     backward passes of the last…;   // they may call exchange_from when gradients are complete
///     sum.finish();                   // now the owned pieces of FlatParameters::gradients() have the sum
class GradientSum {
 public:
  /// The parameters have a piece for each virtual rank. Throws Error unless their number and that of the processes are
  /// powers of two. Parameters and pieces must outlive this object.
  GradientSum(const FlatParameters& parameters, const OwnedPieces& pieces, GradientExchange exchange);

  /// Begins a step: sets all gradients to zero.
  void clear();

  /// Puts the gradients of a virtual rank aside, and sets them to zero for the next virtual rank of the process.
  void end_virtual_rank();

  /// Begins to exchange all buckets from element `begin` of the flat array on. Their gradients of the process's last
  /// virtual rank must be complete.
  void exchange_from(std::int64_t begin);

  /// Exchanges the rest, and waits until the sum is complete. Throws LostProcessError.
  void finish();

  /// Returns the squared Euclidean norm of the sum, fp64 on the device of the parameters, with the same bits in all
  /// processes. All processes call this function after finish().
  at::Tensor sum_of_squares() const;

 private:
  struct Exchange {
    std::size_t bucket;
    at::Tensor sent, received;
    std::unique_ptr<ProcessGroup::Pending> pending;
  };

  void round_summand(const at::Tensor& sum, std::int64_t num_ranks) const;
  void add_summand(const at::Tensor& sum, const at::Tensor& summand, std::int64_t num_ranks) const;
  void begin_exchange(std::size_t bucket);
  void end_exchange(Exchange& exchange) const;
  std::vector<at::Tensor> owned_pieces() const;

  const FlatParameters& parameters_;
  const OwnedPieces& pieces_;
  ProcessGroup& processes_;
  GradientExchange exchange_;
  std::int64_t num_own_ranks_;
  std::int64_t num_ended_ = 0;           // virtual ranks of the process whose gradients were put aside in this step
  std::vector<at::Tensor> sums_;         // number i: a sum of 2^i virtual ranks, if num_ended_ has bit i
  std::size_t num_waiting_buckets_ = 0;  // buckets, from the first on, whose exchange has not begun
  std::vector<Exchange> exchanges_;
};

}  // namespace edgewise
