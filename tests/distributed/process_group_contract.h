// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// Expects everything that ProcessGroup promises for exchanges that succeed. All processes of the group call this
/// function. A failed expectation of one process is reported in that process.
void expect_contract(ProcessGroup& processes);

}  // namespace edgewise
