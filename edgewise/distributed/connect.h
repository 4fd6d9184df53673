// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "edgewise/distributed/launch_environment.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {

struct ConnectOptions {
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(5);
  std::chrono::milliseconds exchange_timeout = std::chrono::minutes(30);  // limits each function of the group
};

/// Connects the processes that a launcher started. They find each other through the store at the launch's address:
/// process 0 serves the store, if the launcher does not, and each process registers there. Without GLOO_SOCKET_IFNAME,
/// a process exchanges tensors over the network interface through which it reaches the store.
///
/// Throws Error if the port is taken, the host is unknown, nobody serves the store, or two processes have one rank, and
/// LostProcessError, which names the ranks, if processes do not come: all at most 4 s after
/// `connect_timeout`, unless a name server takes longer to answer.
///
/// From this call on, libtorch logs nothing on standard error, unless TORCH_CPP_LOG_LEVEL is set.
std::unique_ptr<ProcessGroup> connect_processes(const LaunchEnvironment& launch, const ConnectOptions& options = {});

}  // namespace edgewise
