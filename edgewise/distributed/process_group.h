// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {

/// Another process of the group has ended, cannot be reached, or did not answer within the timeout.
class LostProcessError : public Error {
 public:
  using Error::Error;
};

/// Processes that compute together and exchange tensors. Each has a rank, from 0 to size() - 1.
///
/// All processes call the same functions in the same order, with tensors of equal types and sizes. The tensors are
/// contiguous, and on the CPU or on the GPU for which the group was connected (ConnectOptions::device); an input and an
/// output are on the same device and share no memory. The functions copy bytes and compute nothing, so that a result
/// has the same bits with any implementation. A part is one of size() equal parts of a tensor's elements, in their
/// order. Each function throws LostProcessError.
///
/// Exchanges of tensors on a GPU have an order with the work of the CUDA stream that is current in the calling thread:
/// an exchange reads and writes its tensors after the work that the stream had when the exchange began, and before work
/// that the stream gets after wait() returned.
class ProcessGroup {
 public:
  /// An exchange in progress. Its tensors stay unchanged until wait() returns. The destructor waits too, without
  /// errors.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  virtual ~ProcessGroup() = default;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;

  /// Begins to send part i of `input` to process i, and to receive part i of `output` from process i. Several exchanges
  /// may be in progress.
  virtual std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) = 0;

  /// Begins to receive the `input` of process i as part i of `output`.
  virtual std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) = 0;

  void all_to_all(const at::Tensor& input, const at::Tensor& output) { begin_all_to_all(input, output)->wait(); }
  void all_gather(const at::Tensor& input, const at::Tensor& output) { begin_all_gather(input, output)->wait(); }

  /// Copies the tensor of process `root` to the others.
  virtual void broadcast(const at::Tensor& tensor, std::int64_t root) = 0;

  /// Receives the `input` of process i as part i of the `output` of process `root`; the others pass an undefined
  /// output.
  virtual void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) = 0;

  /// Sends part i of the `input` of process `root` to the `output` of process i; the others pass an undefined input.
  virtual void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) = 0;
};

/// Returns the group that consists of this process alone.
ProcessGroup& single_process();

/// Returns the bytes of all processes, in the order of their ranks; the sizes may differ.
std::vector<std::string> all_gather_bytes(ProcessGroup& processes, const std::string& bytes);

/// Returns the bytes of process `root`; the others' are ignored.
std::string broadcast_bytes(ProcessGroup& processes, const std::string& bytes, std::int64_t root = 0);

/// Returns strings as one, which processes can exchange (all_gather_bytes).
std::string pack_strings(const std::vector<std::string>& strings);

/// Returns the strings of pack_strings. Throws Error for bytes that pack_strings does not return.
std::vector<std::string> unpack_strings(const std::string& bytes);

/// Two groups of the same processes: one exchanges tensors on the CPU, and the other one tensors on a GPU. A
/// function throws Error if its two tensors are on different devices.
class RoutedProcessGroup : public ProcessGroup {
 public:
  RoutedProcessGroup(std::unique_ptr<ProcessGroup> cpu, std::unique_ptr<ProcessGroup> gpu)
      : cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

  std::int64_t rank() const override { return cpu_->rank(); }
  std::int64_t size() const override { return cpu_->size(); }
  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override {
    return group_of("all_to_all", input, output).begin_all_to_all(input, output);
  }
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    return group_of("all_gather", input, output).begin_all_gather(input, output);
  }
  void broadcast(const at::Tensor& tensor, std::int64_t root) override {
    group_of("broadcast", tensor, tensor).broadcast(tensor, root);
  }
  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    group_of("gather", input, output).gather(input, output, root);
  }
  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    group_of("scatter", output, input).scatter(input, output, root);
  }

 private:
  ProcessGroup& group_of(const char* caller, const at::Tensor& tensor, const at::Tensor& other) const;

  std::unique_ptr<ProcessGroup> cpu_;
  std::unique_ptr<ProcessGroup> gpu_;  // ends before cpu_, which finds lost processes for both
};

}  // namespace edgewise
