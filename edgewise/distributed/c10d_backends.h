// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "edgewise/distributed/store.h"

// The backends of c10d. A build without EDGEWISE_CUDA has nccl_missing.cc in the place of nccl_process_group.cc.
namespace edgewise {

struct GlooOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string address;  // IP address of this machine that the other processes reach; unused with GLOO_SOCKET_IFNAME
  std::chrono::milliseconds timeout;
};

/// Connects each pair of processes over TCP, and returns the backend of Gloo, the library of PyTorch for the CPU. All
/// processes call this function with one store. The environment variable GLOO_SOCKET_IFNAME, with names of network
/// interfaces that commas separate, overrides `address`.
///
/// Throws Error for an address or an interface that this machine does not have, and an exception of c10d if a process
/// does not connect within the timeout.
c10::intrusive_ptr<c10d::Backend> connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                               const GlooOptions& options);

struct NcclOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  at::Device device = at::kCPU;  // the GPU of this process
  std::chrono::milliseconds timeout;
};

/// Throws Error, which begins with connect_processes, unless this build has NCCL and this machine has the GPU. Sets the
/// environment variable TORCH_NCCL_BLOCKING_WAIT: without it, a thread of c10d ends the program when a process is lost.
/// Call this function while the process has one thread that uses the environment.
void prepare_nccl(const at::Device& device);

/// Connects the GPUs of the processes, and returns the backend of NCCL, the library of NVIDIA for exchanges between
/// GPUs. All processes call this function with one store, each with a GPU of its own, after prepare_nccl. Throws an
/// exception of c10d if NCCL cannot connect, and waits forever for a process that does not call this function.
///
/// An exchange begins after the work that the current CUDA stream had, and runs on a stream of its own. No test has run
/// NCCL on a GPU yet.
c10::intrusive_ptr<c10d::Backend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                                               const NcclOptions& options);

}  // namespace edgewise
