// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <type_traits>

#include "edgewise/device/stream.h"
#include "edgewise/ops/definition.h"

// Operations call the kernels of kernels/*_gpu.h where uses_gpu_kernels() (definition.h) is true.
namespace edgewise {

/// Returns whether kernels can take a contiguous x where uses_gpu_kernels(x) is true: its data is aligned to 16 bytes.
bool is_aligned(const at::Tensor& x);

/// Returns x, or a contiguous copy whose data is aligned to 16 bytes, which kernels for GPUs need; an undefined x stays
/// undefined.
at::Tensor aligned_contiguous(const at::Tensor& x);

/// Returns the current stream of a GPU, which must be the current device; the emulator's for the CPU.
device::Stream current_stream(at::Device device);

/// Calls call(stream) for the GPU of x. Throws std::runtime_error if a kernel could not start.
template <class Call>
void call_gpu_kernel(const at::Tensor& x, Call call) {
  const c10::DeviceGuard guard(x.device());
  call(current_stream(x.device()));
}

/// Calls a function of a kernel for numbers of type T: call(stream) where uses_gpu_kernels(x) is true, else call().
///
///     call_kernel<T>(x, [&](auto... stream) { kernels::dropout(rule, count, in, out, stream...); });
template <typename T, class Call>
void call_kernel(const at::Tensor& x, Call call) {
  if constexpr (!std::is_same_v<T, double>) {
    if (uses_gpu_kernels(x)) return call_gpu_kernel(x, call);
  }
  call();
}

}  // namespace edgewise
