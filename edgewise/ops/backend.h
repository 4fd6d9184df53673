// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <cstdint>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"

// What computes an operation, and how an operation calls its kernels. Each operation of this folder has a definition in
// plain ATen, which runs on every device: attend() has attend_plain(), and so on. Tensors on the CPU have faster
// kernels, and for most operations so have tensors on a GPU.
namespace edgewise {

/// The implementation of an operation for a tensor.
enum class Backend {
  kDefinition,  // plain ATen
  kCpu,         // the kernels for the CPU
  kGpu,         // the kernels for GPUs
};

/// Returns what computes an operation on x:
///
/// - kDefinition with EDGEWISE_OPERATIONS=definition;
/// - kCpu if x is on the CPU;
/// - kGpu if x is fp32 or bf16, on a GPU of a program with CUDA, and the operation has a kernel for GPUs. So is an x on
///   the CPU with EDGEWISE_OPERATIONS=cuda-emulated: the emulator runs the kernels, slowly, for tests;
/// - kDefinition otherwise.
///
/// Throws Error if EDGEWISE_OPERATIONS has a value that is unknown, or that this program cannot obey.
Backend backend_of(const at::Tensor& x, bool has_gpu_kernel = true);

/// The values of EDGEWISE_OPERATIONS.
enum class Operations { kAutomatic, kDefinition, kCudaEmulated };

/// While an object of this class exists, the process works as with this value of EDGEWISE_OPERATIONS. The backward pass
/// of an operation needs the value of its forward pass.
class OperationsGuard {
 public:
  /// Throws Error for kCudaEmulated if the program has no emulator.
  explicit OperationsGuard(Operations operations);
  ~OperationsGuard();
  OperationsGuard(const OperationsGuard&) = delete;
  OperationsGuard& operator=(const OperationsGuard&) = delete;

 private:
  int before_;
};

/// Returns whether kernels for GPUs can take a contiguous x: its data is aligned to 16 bytes.
bool is_aligned(const at::Tensor& x);

/// Returns x, or a contiguous copy whose data is aligned to 16 bytes where backend_of(x) is kGpu; an undefined x stays
/// undefined.
at::Tensor aligned_contiguous(const at::Tensor& x);

/// Returns the current stream of a GPU, or the emulator's for the CPU.
device::Stream current_stream(at::Device device);

/// Calls a kernel that only GPUs have, where backend_of(x) is kGpu: on_gpu(stream). Throws std::runtime_error if the
/// kernel could not start.
template <class OnGpu>
void call_kernel(const at::Tensor& x, OnGpu on_gpu) {
  const c10::DeviceGuard guard(x.device());
  on_gpu(current_stream(x.device()));
}

/// Calls a kernel for numbers of type T where x is: on_gpu(stream) if backend_of(x) is kGpu, else on_cpu(). There are
/// no kernels for GPUs for double.
template <typename T, class OnCpu, class OnGpu>
void call_kernel(const at::Tensor& x, OnCpu on_cpu, OnGpu on_gpu) {
  if constexpr (!std::is_same_v<T, double>) {
    if (backend_of(x) == Backend::kGpu) return call_kernel(x, on_gpu);
  }
  on_cpu();
}

/// Does so for functions of one name:
///
///     call_kernel<T>(x, [&](auto... stream) { kernels::dropout(rule, count, in, out, stream...); });
template <typename T, class Call>
void call_kernel(const at::Tensor& x, Call call) {
  call_kernel<T>(x, call, call);
}

// The functions below make a template parameter of the element type of a tensor, and return its data for a kernel.

/// Calls fn(T{}) with the element type of a tensor that check_float_or_double accepts.
template <class Fn>
void with_float_or_double(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kFloat) {
    fn(float{});
  } else {
    fn(double{});
  }
}

/// Calls fn(T{}) with the element type of a tensor that check_floating_point accepts: float, double or BFloat16.
template <class Fn>
void with_floating_point(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    with_float_or_double(tensor, fn);
  }
}

/// Calls fn(T{}) with BFloat16 for kBFloat16, else with float.
template <class Fn>
void with_float_or_bf16(at::ScalarType type, Fn fn) {
  if (type == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    fn(float{});
  }
}

/// Returns the data pointer of a tensor, or null for an undefined tensor.
template <typename T>
T* data_or_null(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  if constexpr (std::is_same_v<T, BFloat16>) {
    static_assert(sizeof(BFloat16) == sizeof(at::BFloat16));
    return reinterpret_cast<BFloat16*>(tensor.data_ptr<at::BFloat16>());
  } else {
    return tensor.data_ptr<T>();
  }
}

/// Returns the product of all sizes of `x_TM` but the last, or 0 if the last size is 0.
inline std::int64_t num_rows(const at::Tensor& x_TM) { return x_TM.size(-1) == 0 ? 0 : x_TM.numel() / x_TM.size(-1); }

}  // namespace edgewise
