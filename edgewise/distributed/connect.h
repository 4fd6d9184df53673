// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "edgewise/distributed/launch_environment.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {

struct ConnectOptions {
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(5);    // until all processes have come
  std::chrono::milliseconds exchange_timeout = std::chrono::minutes(30);  // for each exchange
};

/// Connects this process with the others that a launcher started: all meet at a store, which rank 0 or the launcher
/// serves, and then exchange tensors by Gloo over the network interface that reaches the store's address, or the one
/// that GLOO_SOCKET_IFNAME names. Throws LostProcessError, which names the ranks that did not come within the timeout,
/// and Error if the store cannot be served or reached.
std::unique_ptr<ProcessGroup> connect_processes(const LaunchEnvironment& launched, const ConnectOptions& options = {});

}  // namespace edgewise
