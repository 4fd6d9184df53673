// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// The key-value store by which the processes of a group find each other: c10d's, whose headers are heavy.
struct StoreHandle;

struct GlooOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string interface;      // the network interface to use, such as "eth0"; "": the one of `local_address`
  std::string local_address;  // an address of this machine
  std::chrono::milliseconds timeout{};
};

/// Connects to the other processes by Gloo, over TCP. All processes of the store call this function. Throws
/// LostProcessError if one does not within the timeout, which is also that of each exchange.
std::unique_ptr<ProcessGroup> connect_by_gloo(const StoreHandle& store, const GlooOptions& options);

}  // namespace edgewise
