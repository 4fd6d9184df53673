// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise::device {

/// A queue of the device, which runs its kernels and copies one after the other. `handle` is a cudaStream_t, and null
/// is the default queue. The emulator ignores the stream, and finishes each kernel within launch()
/// unless a LaunchGraph records the kernel.
struct Stream {
  void* handle = nullptr;
};

}  // namespace edgewise::device
