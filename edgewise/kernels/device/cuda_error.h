// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace edgewise::kernels::device {

/// Throws std::runtime_error, with the name of the caller, if a function of CUDA's runtime has failed.
inline void check_cuda(const char* caller, cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(caller) + ": " + cudaGetErrorString(error));
}

}  // namespace edgewise::kernels::device
