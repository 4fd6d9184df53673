// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "edgewise/device/choose_gpu.h"

namespace edgewise {

/// Returns the device that choose_gpu() chooses.
at::Device choose_device(const DeviceRequest& request);

/// Prepares this process and this thread for computing on the device. For a GPU, sets the options of libtorch with
/// which the same command gives the same bits (deterministic algorithms, CUBLAS_WORKSPACE_CONFIG if it is not set, bf16
/// products that are summed in fp32), and makes the GPU the thread's current one. Changes nothing for the CPU. Call
/// this function while the process has one thread that uses the environment.
void prepare_device(at::Device device);

/// Explains the exception with which libtorch reports that the memory of a GPU ran out: how much was needed and free,
/// and the options that need less. Returns nothing for another exception.
std::optional<std::string> explain_gpu_memory(const std::exception& error);

/// Counts the memory of tensors. For the CPU, counts the tensors that all threads allocate during the life of this
/// object. For a GPU, counts those of the process since it began, without the memory that libtorch keeps for later
/// tensors. Only one object may exist.
class TensorMemory {
 public:
  explicit TensorMemory(c10::Device device);
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  /// Returns the largest number of bytes at any time. A GPU must have computed before.
  std::int64_t peak() const;

 private:
  c10::Device device_;
};

}  // namespace edgewise
