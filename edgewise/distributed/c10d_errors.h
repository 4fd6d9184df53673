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

/// Keeps c10d and Gloo from writing on standard error what they also throw: stack traces, and failed connections.
/// Switches off the log of libtorch, and sets the environment variable GLOO_DISABLE_CONNECTION_RETRIES, because Gloo
/// logs a connection that it retries whatever its log level is. Changes nothing if the user chose a level with
/// TORCH_CPP_LOG_LEVEL. Call it before the first use of Gloo.
void silence_torch_log();

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
