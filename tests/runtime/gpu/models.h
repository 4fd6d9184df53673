// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/runtime/gpu/model.h"
#include "tests/runtime/scorer_checks.h"

namespace edgewise {

inline GpuModel gpu_model_of(const Transformer& model, RuntimePrecision precision = RuntimePrecision::kFp32) {
  return GpuModel(model.options(), parameter_file(model), "model.safetensors", {.precision = precision});
}

}  // namespace edgewise
