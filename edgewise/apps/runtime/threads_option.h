// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace edgewise {

/// `--threads N`; 0, the default, stands for OMP_NUM_THREADS, or else the cores that this process may use.
void add_threads_option(CLI::App& command, int& threads);

/// Sets the threads that kernels and libtorch use.
void use_threads(int threads);

}  // namespace edgewise
