// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "edgewise/train/gpus.h"

namespace edgewise {

/// The number of a process among those of a training on the same machine.
struct LocalPlace {
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

/// The device that an option names.
struct DeviceRequest {
  std::string option;  // the beginning of errors, such as "train: train.device"
  std::string name;    // a value of train.device (options/device_name.h)
  LocalPlace place = {};
};

/// Returns the device of a process:
///
/// - "cpu";
/// - "cuda": the GPU whose number is the rank of the process on its machine; each process needs one;
/// - "cuda:N": the GPU number N. Several processes may share it only if it is another GPU for each: a launcher may set
///   CUDA_VISIBLE_DEVICES so that each process has one GPU, which is its cuda:0;
/// - "auto": of the GPUs that can be used, the one with the number of the rank. The CPU if there are fewer of them than
///   processes.
///
/// A GPU can be used if its compute capability is at least 8.0. Throws Error for another name, and if the GPU is not
/// there or cannot be used: the error describes what is missing.
at::Device choose_device(const DeviceRequest& request, const GpuSearch& search);

/// Does so with the GPUs of find_gpus(), which it does not call for "cpu".
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
