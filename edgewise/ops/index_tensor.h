// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <span>

namespace edgewise {

/// Copies a tensor of the CPU to a device. Does not wait for a copy to a GPU, which begins after the operations before
/// it on the GPU's current stream.
inline at::Tensor copy_to_device(const at::Tensor& host, at::Device device) {
  return device.is_cuda() ? host.pin_memory().to(device, /*non_blocking=*/true) : host.to(device);
}

/// Copies the numbers of rows to a tensor on a device.
template <typename Index>
at::Tensor index_tensor(std::span<const Index> rows, at::Device device) {
  return copy_to_device(at::tensor(at::ArrayRef<Index>(rows.data(), rows.size())), device);
}

}  // namespace edgewise
