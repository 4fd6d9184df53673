// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace edgewise {

/// Lets the system send SIGTERM to this process when the thread that started it ends, in whatever way. Returns false if
/// `parent` is not the process that started this one, or has ended already. May be called between fork and exec.
bool end_with_parent(pid_t parent);

}  // namespace edgewise
