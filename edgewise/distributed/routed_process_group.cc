// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/routed_process_group.h"

#include <utility>

namespace edgewise {

RoutedProcessGroup::RoutedProcessGroup(std::unique_ptr<ProcessGroup> cpu, std::unique_ptr<ProcessGroup> gpu)
    : cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

std::int64_t RoutedProcessGroup::rank() const { return cpu_->rank(); }
std::int64_t RoutedProcessGroup::size() const { return cpu_->size(); }

std::unique_ptr<ProcessGroup::Pending> RoutedProcessGroup::begin_all_to_all(const at::Tensor& input,
                                                                            const at::Tensor& output) {
  return group_of("all_to_all", input, output).begin_all_to_all(input, output);
}

std::unique_ptr<ProcessGroup::Pending> RoutedProcessGroup::begin_all_gather(const at::Tensor& input,
                                                                            const at::Tensor& output) {
  return group_of("all_gather", input, output).begin_all_gather(input, output);
}

void RoutedProcessGroup::broadcast(const at::Tensor& tensor, std::int64_t root) {
  group_of("broadcast", tensor, tensor).broadcast(tensor, root);
}

void RoutedProcessGroup::gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) {
  group_of("gather", input, output).gather(input, output, root);
}

void RoutedProcessGroup::scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) {
  group_of("scatter", output, input).scatter(input, output, root);
}

/// Chooses by the device of `tensor`; `other` is on the same device or undefined.
ProcessGroup& RoutedProcessGroup::group_of(const char* caller, const at::Tensor& tensor,
                                           const at::Tensor& other) const {
  if (other.defined() && other.device() != tensor.device()) {
    fail("{}: the tensors are on {} and {}, needs both on one device", caller, tensor.device().str(),
         other.device().str());
  }
  return tensor.is_cpu() ? *cpu_ : *gpu_;
}

}  // namespace edgewise
