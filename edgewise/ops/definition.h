// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

// Each operation of this folder has a definition in plain ATen, which runs on every device: attend() has
// attend_plain(), and so on. Tensors on the CPU have faster kernels.
namespace edgewise {

/// Returns whether an operation on x of fp32 or bf16 calls kernels for GPUs, if it has some: x is on a GPU and this
/// build has CUDA, or x is on the CPU and the environment has EDGEWISE_OPERATIONS=cuda-emulated. Then the emulator runs
/// the kernels; this is for tests, because it is slow.
bool uses_gpu_kernels(const at::Tensor& x);

/// Returns whether an operation on x uses its definition: the environment has EDGEWISE_OPERATIONS=definition, a
/// DefinitionsGuard exists, or x is not on the CPU. An operation with `has_gpu_kernel` needs no definition where
/// uses_gpu_kernels(x) is true. Throws Error if EDGEWISE_OPERATIONS has a value that is unknown.
bool uses_definition(const at::Tensor& x, bool has_gpu_kernel = false);

/// Returns whether a function on x calls its kernel for GPUs instead of its definition, if the CPU has no kernel for
/// it.
bool calls_gpu_kernels(const at::Tensor& x);

/// While an object of this class exists, all operations of the process use their definitions, on the CPU too.
class DefinitionsGuard {
 public:
  DefinitionsGuard();
  ~DefinitionsGuard();
  DefinitionsGuard(const DefinitionsGuard&) = delete;
  DefinitionsGuard& operator=(const DefinitionsGuard&) = delete;
};

/// Returns false in a build with CUDA.
bool has_emulator_of_gpus();

/// While an object of this class exists, the process works as with EDGEWISE_OPERATIONS=cuda-emulated, for tests.
class EmulatedKernelsGuard {
 public:
  /// Throws Error if has_emulator_of_gpus() is false.
  EmulatedKernelsGuard();
  ~EmulatedKernelsGuard();
  EmulatedKernelsGuard(const EmulatedKernelsGuard&) = delete;
  EmulatedKernelsGuard& operator=(const EmulatedKernelsGuard&) = delete;
};

}  // namespace edgewise
