// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "edgewise/distributed/key_value_store.h"

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
c10::intrusive_ptr<c10d::Backend> connect_gloo(const KeyValueStore& store, const GlooOptions& options);

}  // namespace edgewise
