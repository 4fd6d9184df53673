// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>
#include <c10/core/Device.h>

#include <cstdlib>

namespace edgewise {

/// Returns where the tests of operations, layers and models compute: on the device that the environment variable
/// EDGEWISE_TEST_DEVICE names, such as cuda, else on the CPU. On a GPU, libtorch then computes the same bits in every
/// run, as in training.
inline at::Device test_device() {
  static const at::Device device = [] {
    const char* const name = std::getenv("EDGEWISE_TEST_DEVICE");
    if (name == nullptr) return at::Device(at::kCPU);
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    return at::Device(name);
  }();
  return device;
}

}  // namespace edgewise
