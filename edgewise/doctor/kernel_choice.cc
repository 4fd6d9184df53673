// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/kernel_choice.h"

#include <cstdint>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise {

KernelChoice choose_kernels() {
  KernelChoice choice;
  choice.instruction_set = kernels::instruction_set_name(kernels::instruction_set());
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    choice.runnable.emplace_back(kernels::instruction_set_name(set));
  }
  choice.is_forced = kernels::named_instruction_set().has_value();
  choice.onednn = kernels::onednn::instructions();
  choice.has_fast_bf16_translation = kernels::has_fast_bf16_row_products();
  choice.has_fast_bf16_training = kernels::has_native_bf16();
  choice.has_fast_int8 = kernels::choose_panel_format<std::int8_t>() == kernels::PanelFormat::kAvx512;
  return choice;
}

}  // namespace edgewise
