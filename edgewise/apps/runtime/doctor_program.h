// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// Runs the program `edgewise-doctor`, and returns its exit code.
int run_edgewise_doctor(int argc, char** argv);

}  // namespace edgewise
