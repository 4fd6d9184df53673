// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

// Each operation of this folder has a definition in plain ATen, which runs on every device: attend() has
// attend_plain(), and so on. Tensors on the CPU have faster kernels.
namespace edgewise {

/// Returns whether an operation on x uses its definition: x is not on the CPU, the environment has
/// EDGEWISE_OPERATIONS=definition, or a DefinitionsGuard exists. Throws Error if EDGEWISE_OPERATIONS has another value.
bool uses_definition(const at::Tensor& x);

/// While an object of this class exists, all operations of the process use their definitions, on the CPU too.
class DefinitionsGuard {
 public:
  DefinitionsGuard();
  ~DefinitionsGuard();
  DefinitionsGuard(const DefinitionsGuard&) = delete;
  DefinitionsGuard& operator=(const DefinitionsGuard&) = delete;
};

}  // namespace edgewise
