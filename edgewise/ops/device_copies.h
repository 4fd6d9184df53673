// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

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

/// Copies the numbers of a tensor, as fp64, from its device to the host. Waits for all work of the device before the
/// copy. A training step calls no other function that waits, so that HostReads lists all its waits.
std::vector<double> read_numbers(const at::Tensor& tensor);

/// While an object of this class exists, read_numbers() reads nothing: it returns zeros, and this object counts the
/// calls. So a test can run a step on the device `meta`, whose tensors have no numbers.
class HostReads {
 public:
  HostReads();
  ~HostReads();
  HostReads(const HostReads&) = delete;
  HostReads& operator=(const HostReads&) = delete;

  /// Returns the number of elements of each tensor that read_numbers() was to read.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

 private:
  friend std::vector<double> read_numbers(const at::Tensor& tensor);
  std::vector<std::int64_t> sizes_;
};

}  // namespace edgewise
