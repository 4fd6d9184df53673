// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/backend.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/device/memory.h"

namespace edgewise {
namespace {

constexpr int kNoGuard = -1;
std::atomic<int> guard_value = kNoGuard;  // the Operations of the innermost OperationsGuard, or kNoGuard

void check_emulator(std::string_view caller) {
  check(device::platform() == device::Platform::kEmulator,
        "{} is cuda-emulated, needs a program with the emulator of GPUs, which the tests have", caller);
}

Operations operations_of_environment() {
  const char* value = std::getenv("EDGEWISE_OPERATIONS");
  if (value == nullptr || *value == '\0') return Operations::kAutomatic;
  if (std::string_view(value) == "definition") return Operations::kDefinition;
  check(std::string_view(value) == "cuda-emulated",
        "EDGEWISE_OPERATIONS is '{}', needs definition, cuda-emulated, or nothing", value);
  check_emulator("EDGEWISE_OPERATIONS");
  return Operations::kCudaEmulated;
}

Operations operations() {
  static const Operations from_environment = operations_of_environment();
  const int value = guard_value;
  return value == kNoGuard ? from_environment : static_cast<Operations>(value);
}

bool has_gpu_kernel_type(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
}

}  // namespace

Backend backend_of(const at::Tensor& x, bool has_gpu_kernel) {
  const Operations chosen = operations();
  if (chosen == Operations::kDefinition) return Backend::kDefinition;
  const bool is_emulated = chosen == Operations::kCudaEmulated;
  if (x.is_cpu() && !is_emulated) return Backend::kCpu;
  const bool is_on_gpu = is_emulated ? x.is_cpu() : x.is_cuda();
  return is_on_gpu && has_gpu_kernel && has_gpu_kernel_type(x) ? Backend::kGpu : Backend::kDefinition;
}

OperationsGuard::OperationsGuard(Operations operations) : before_(guard_value) {
  if (operations == Operations::kCudaEmulated) check_emulator("OperationsGuard: operations");
  guard_value = static_cast<int>(operations);
}

OperationsGuard::~OperationsGuard() { guard_value = before_; }

bool is_aligned(const at::Tensor& x) {
  constexpr std::uintptr_t kAlignment = 16;
  return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % kAlignment == 0;
}

at::Tensor aligned_contiguous(const at::Tensor& x) {
  if (!x.defined()) return x;
  const at::Tensor contiguous = x.contiguous();
  return backend_of(x) != Backend::kGpu || is_aligned(contiguous) ? contiguous : contiguous.clone();
}

device::Stream current_stream(at::Device device) {
  if (device.is_cpu()) return {};
  // VirtualGuardImpl needs no header of CUDA.
  const c10::impl::VirtualGuardImpl gpus(device.type());
  return {gpus.getStreamNativeHandle(gpus.getStream(device))};
}

}  // namespace edgewise
