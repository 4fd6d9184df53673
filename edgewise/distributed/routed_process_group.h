// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// Two groups of the same processes, of which one exchanges tensors on the CPU and the other one tensors on a GPU. A
/// function throws Error if its two tensors are on different devices.
class RoutedProcessGroup : public ProcessGroup {
 public:
  RoutedProcessGroup(std::unique_ptr<ProcessGroup> cpu, std::unique_ptr<ProcessGroup> gpu);

  std::int64_t rank() const override;
  std::int64_t size() const override;
  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override;
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override;
  void broadcast(const at::Tensor& tensor, std::int64_t root) override;
  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override;
  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override;

 private:
  ProcessGroup& group_of(const char* caller, const at::Tensor& tensor, const at::Tensor& other) const;

  std::unique_ptr<ProcessGroup> cpu_;
  std::unique_ptr<ProcessGroup> gpu_;  // ends before cpu_, which finds lost processes for both
};

}  // namespace edgewise
