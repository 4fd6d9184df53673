// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <fstream>

#include "edgewise/device/choose_gpu.h"

namespace edgewise {
namespace {

/// Returns the version of NVIDIA's driver, such as "580.65.06", or if its file is hidden, the version of CUDA that the
/// driver has.
std::string describe_driver(int cuda) {
  std::string version;
  std::ifstream("/sys/module/nvidia/version") >> version;
  if (!version.empty()) return version;
  return "one for CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

/// Describes why CUDA cannot count the GPUs.
GpuSearch explain_failure(cudaError_t error) {
  if (error != cudaErrorInsufficientDriver) {
    return {.obstacle = GpuObstacle::kFailure, .detail = cudaGetErrorString(error), .gpus = {}};
  }
  int cuda = 0;  // stays 0 without a driver
  cudaDriverGetVersion(&cuda);
  if (cuda == 0) return {.obstacle = GpuObstacle::kNoDriver, .detail = {}, .gpus = {}};
  return {.obstacle = GpuObstacle::kOldDriver, .detail = describe_driver(cuda), .gpus = {}};
}

}  // namespace

GpuSearch find_gpus() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice) return {};
  if (counted != cudaSuccess) return explain_failure(counted);
  GpuSearch search;
  for (int number = 0; number < count; ++number) {
    cudaDeviceProp properties{};
    const cudaError_t read = cudaGetDeviceProperties(&properties, number);
    if (read != cudaSuccess) return explain_failure(read);
    search.gpus.push_back({properties.name, properties.major, properties.minor});
  }
  return search;
}

}  // namespace edgewise
