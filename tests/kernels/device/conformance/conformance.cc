// SPDX-License-Identifier: Apache-2.0
// Prints the words of all primitives. conformance.cu is the same program for a device.
#include "tests/kernels/device/conformance/conformance.h"

#include <cstdio>
#include <exception>

int main() {
  try {
    std::fputs(edgewise::kernels::gpu::conformance::describe_conformance().c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 1;
  }
}
