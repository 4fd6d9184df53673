// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "edgewise/base/device_failure.h"

namespace edgewise::device {

/// Returns whether an error is sticky: every later call of this process for the GPU fails, too.
inline bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

/// Throws, with the name of the caller, if a function of CUDA's runtime has failed: DeviceFailure for a sticky error,
/// else std::runtime_error. CUDA forgets the error, unless it is sticky.
inline void check_cuda(const char* caller, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = std::string(caller) + ": " + cudaGetErrorString(error);
  if (is_sticky(error)) throw DeviceFailure(message);
  throw std::runtime_error(message);
}

}  // namespace edgewise::device
