// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdlib>

namespace edgewise {

/// Returns where the tests of operations, layers and models compute: on the device that the environment variable
/// EDGEWISE_TEST_DEVICE names, such as cuda, else on the CPU.
inline at::Device test_device() {
  static const char* const name = std::getenv("EDGEWISE_TEST_DEVICE");
  return name == nullptr ? at::Device(at::kCPU) : at::Device(name);
}

}  // namespace edgewise
