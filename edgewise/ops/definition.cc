// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/definition.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

#ifdef EDGEWISE_CUDA
constexpr bool kHasCuda = true;
#else
constexpr bool kHasCuda = false;
#endif

enum class Implementation { kKernelsOfDevice, kEmulatedGpuKernels, kDefinition };

Implementation implementation_of_environment() {
  const char* value = std::getenv("EDGEWISE_OPERATIONS");
  if (value == nullptr || *value == '\0') return Implementation::kKernelsOfDevice;
  if (std::string_view(value) == "definition") return Implementation::kDefinition;
  check(std::string_view(value) == "cuda-emulated",
        "EDGEWISE_OPERATIONS is '{}', needs definition, cuda-emulated, or nothing", value);
  check(!kHasCuda,
        "EDGEWISE_OPERATIONS is cuda-emulated, but this build has CUDA, not the emulator; needs a build "
        "without CUDA");
  return Implementation::kEmulatedGpuKernels;
}

std::atomic<int> num_definitions_guards = 0;
std::atomic<int> num_emulated_kernels_guards = 0;

Implementation implementation() {
  static const Implementation found = implementation_of_environment();
  return num_emulated_kernels_guards > 0 ? Implementation::kEmulatedGpuKernels : found;
}

}  // namespace

bool uses_gpu_kernels(const at::Tensor& x) {
  const bool is_on_gpu = kHasCuda ? x.is_cuda() : x.is_cpu() && implementation() == Implementation::kEmulatedGpuKernels;
  return is_on_gpu && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

bool uses_definition(const at::Tensor& x, bool has_gpu_kernel) {
  if (implementation() == Implementation::kDefinition || num_definitions_guards > 0) return true;
  if (x.is_cpu() && implementation() == Implementation::kKernelsOfDevice) return false;
  return !has_gpu_kernel || !uses_gpu_kernels(x);
}

bool calls_gpu_kernels(const at::Tensor& x) {
  return uses_gpu_kernels(x) && !uses_definition(x, /*has_gpu_kernel=*/true);
}

DefinitionsGuard::DefinitionsGuard() { ++num_definitions_guards; }
DefinitionsGuard::~DefinitionsGuard() { --num_definitions_guards; }

bool has_emulator_of_gpus() { return !kHasCuda; }

EmulatedKernelsGuard::EmulatedKernelsGuard() {
  check(has_emulator_of_gpus(),
        "EmulatedKernelsGuard: this build has CUDA, not the emulator; needs a build without CUDA");
  ++num_emulated_kernels_guards;
}
EmulatedKernelsGuard::~EmulatedKernelsGuard() { --num_emulated_kernels_guards; }

}  // namespace edgewise
