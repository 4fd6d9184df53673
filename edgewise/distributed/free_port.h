// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// Returns a TCP port of the loopback interface that no process uses at the moment. Throws Error if there is none.
int find_free_port();

}  // namespace edgewise
