// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

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

}  // namespace edgewise
