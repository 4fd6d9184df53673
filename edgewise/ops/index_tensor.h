// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/ops/backend.h"

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

/// The numbers of rows where the kernel of an operation on x reads them: copied to the device of x where
/// backend_of(x) is kGpu; else `rows`, which must outlive this object.
template <typename Index>
class KernelRows {
 public:
  KernelRows(std::span<const Index> rows, const at::Tensor& x) : rows_(rows.data()) {
    if (backend_of(x) == Backend::kGpu) copy_ = index_tensor(rows, x.device());
  }

  const Index* data() const { return copy_.defined() ? copy_.const_data_ptr<Index>() : rows_; }

 private:
  const Index* rows_;
  at::Tensor copy_;
};

}  // namespace edgewise
