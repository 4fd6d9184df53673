// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// Runs the program `edgewise-server`, and returns its exit code.
int run_edgewise_server(int argc, char** argv);

}  // namespace edgewise
