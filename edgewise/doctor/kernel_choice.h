// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

/// The kernels that this process uses.
struct KernelChoice {
  std::string instruction_set;             // the set in force
  std::vector<std::string> runnable;       // all sets that this machine can run; the last one is the best
  bool is_forced = false;                  // whether EDGEWISE_KERNELS names the set in force
  std::string onednn;                      // the best instructions that oneDNN uses
  bool has_fast_bf16_translation = false;  // whether bf16 products of translating use bf16 instructions
  bool has_fast_bf16_training = false;     // whether bf16 products of training use bf16 instructions
  bool has_fast_int8 = false;              // whether int8 products use instructions that add four products
};

/// Throws Error if EDGEWISE_KERNELS names no set that this machine can run.
KernelChoice choose_kernels();

}  // namespace edgewise
