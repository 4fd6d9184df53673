// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace edgewise {

/// Describes the address space that is left and the one that is needed, in bytes, and what to do.
std::string address_space_text(std::int64_t left, std::int64_t needed);

/// Calls `run`, which returns the program's exit code, if the limits of the process are large enough for any work: a
/// stack of 1 MB (`ulimit -s`) and `bytes` of address space (`ulimit -v`, `ulimit -d`). Otherwise prints an error and
/// returns 2. `program` is the name of the program. Of the variables of OpenMP, the program has OMP_NUM_THREADS alone,
/// and this function warns if that has no number of threads.
int run_within_limits(const std::string& program, std::int64_t bytes, const std::function<int()>& run);

}  // namespace edgewise
