// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace edgewise {

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
