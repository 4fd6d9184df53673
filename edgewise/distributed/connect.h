// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "edgewise/distributed/launch_environment.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {

struct ConnectOptions {
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(5);
  std::chrono::milliseconds exchange_timeout = std::chrono::minutes(30);  // time limit of each function of the group
  at::Device device = at::kCPU;  // the CPU, or a GPU such as cuda:0; tensors on the CPU are always exchanged, too
};

/// Connects the processes that a launcher started. They find each other through the store at the launch's address:
/// process 0 serves the store, if the launcher does not, and each process registers there. Without GLOO_SOCKET_IFNAME,
/// a process exchanges tensors over the network interface through which it reaches the store.
///
/// Tensors on the CPU are exchanged through Gloo, tensors on the GPU `device` through NCCL. Each process of a machine
/// has a GPU of its own.
///
/// Throws Error if `device` is neither the CPU nor a GPU that this machine and this build support, if the port is
/// taken, if the host is unknown, if no process serves the store, or if two processes have the same rank. Throws
/// LostProcessError, which names the missing ranks, if not all processes connect. Each error comes at most 4 s after
/// `connect_timeout`, unless a name server takes longer to answer.
///
/// From this call on, libtorch logs nothing on standard error, unless TORCH_CPP_LOG_LEVEL is set.
std::unique_ptr<ProcessGroup> connect_processes(const LaunchEnvironment& launch, const ConnectOptions& options = {});

}  // namespace edgewise
