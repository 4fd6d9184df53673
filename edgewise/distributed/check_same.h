// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edgewise/distributed/agreement.h"

namespace edgewise {

/// Throws CollectiveError if a value, such as {"config", text}, differs between processes. The error names the first
/// value that differs, the first process whose value is not that of process 0, and the first line that differs. All
/// processes call this function with the same names.
void check_same(ProcessGroup& processes, const std::vector<std::pair<std::string, std::string>>& named_values);

}  // namespace edgewise
