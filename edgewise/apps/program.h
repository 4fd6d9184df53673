// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// Runs the program `edgewise` with the arguments of main(). Returns the exit code: 0 success, 1 internal error, 2
/// mistake of the user, or output that could not be written, 128 + n ended by signal n.
int run_edgewise(int argc, char** argv);

}  // namespace edgewise
