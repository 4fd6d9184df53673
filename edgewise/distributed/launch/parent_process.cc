// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch/parent_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace edgewise {

bool end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The system sends no signal for a parent that ended before, and another process is the parent then.
  return getppid() == parent;
}

}  // namespace edgewise
