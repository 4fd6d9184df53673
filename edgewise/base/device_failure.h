// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace edgewise {

/// An error of a GPU after which the process can no longer use it, such as an access out of bounds: only a new process
/// can. The emulator of GPUs throws it for any error of a kernel.
class DeviceFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace edgewise
