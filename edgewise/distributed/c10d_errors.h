// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns the text of a LostProcessError that `caller` throws for a group of `size` processes.
std::string describe_lost_process(std::string_view caller, std::int64_t size, std::chrono::milliseconds timeout,
                                  std::string_view cause);

/// Returns the first line of the message of an exception of c10d, Gloo or NCCL, without places in their source code.
std::string first_line(const std::exception& error);

/// Keeps the signal SIGPIPE from this thread, and from threads that it starts meanwhile: Gloo writes to connections
/// that the other process may have closed.
class BlockedBrokenPipe {
 public:
  BlockedBrokenPipe();
  BlockedBrokenPipe(const BlockedBrokenPipe&) = delete;
  BlockedBrokenPipe& operator=(const BlockedBrokenPipe&) = delete;
  /// Discards a signal that came meanwhile.
  ~BlockedBrokenPipe();

 private:
  sigset_t before_;
};

}  // namespace edgewise
