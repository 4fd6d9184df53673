// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/distributed/key_value_store.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {

struct GlooOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string address;  // IP address of this machine that the other processes reach; unused with GLOO_SOCKET_IFNAME
  std::chrono::milliseconds connect_timeout;
  std::chrono::milliseconds exchange_timeout;
};

/// Connects each pair of processes over TCP, and returns the group, which exchanges tensors through Gloo, the library
/// of PyTorch for the CPU. All processes call this function with one store. The environment variable
/// GLOO_SOCKET_IFNAME, with names of network interfaces that commas separate, overrides `address`.
///
/// An exchange throws LostProcessError as soon as a connection is closed, and after `exchange_timeout` without
/// progress; every later exchange of the group throws too. Throws LostProcessError if a process does not connect.
std::unique_ptr<ProcessGroup> connect_gloo(const KeyValueStore& store, const GlooOptions& options);

/// Returns the text of a LostProcessError that `caller` throws for a group of `size` processes.
std::string describe_lost_process(std::string_view caller, std::int64_t size, std::chrono::milliseconds timeout,
                                  std::string_view cause);

/// Returns the first line of the message of an exception of c10d or Gloo, without places in their source code.
std::string first_line(const std::exception& error);

}  // namespace edgewise
