// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace edgewise {

/// Prints a warning if OMP_NUM_THREADS has no number of threads, and was therefore taken out of the environment.
///
/// A program that calls this function runs OpenMP in one thread (SerialOpenMpScope) and needs only OMP_NUM_THREADS, a
/// number from 1 to 1024, or several with commas between them, of which the first one counts. Before the libraries of
/// the program start, all other variables OMP_* and GOMP_* leave its environment: libgomp would print lines of its own
/// about values that it does not understand, and would bind the process to one core (OMP_PROC_BIND).
void report_openmp_environment(const std::string& program);

}  // namespace edgewise
