// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// Runs the program `edgewise-translate`, and returns its exit code.
int run_edgewise_translate(int argc, char** argv);

}  // namespace edgewise
