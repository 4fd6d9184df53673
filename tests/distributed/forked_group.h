// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"
#include "edgewise/distributed/connect.h"
#include "tests/support/process.h"

namespace edgewise {

/// A TCP port of this machine that no other program receives from the system while the object exists. A process that
/// allows the reuse of addresses can listen at the port.
class ReservedPort {
 public:
  ReservedPort();

  int number() const { return number_; }

  /// Listens at the port, and answers nothing.
  void listen() const;

 private:
  FileDescriptor socket_;
  int number_ = 0;
};

/// Starts a copy of this process, which has one thread, and returns without waiting. The copy fails if an expectation
/// of `run` fails or `run` throws.
RunningProcess fork_process(const std::function<void()>& run);

/// Returns what a launcher of `size` processes on this machine would tell process `rank`.
LaunchEnvironment launch_of(std::int64_t rank, std::int64_t size, const ReservedPort& port);

/// Starts processes that connect and call `run`. `port` lives until they have connected.
std::vector<RunningProcess> fork_group(std::int64_t size, const ReservedPort& port,
                                       const std::function<void(ProcessGroup&)>& run,
                                       const ConnectOptions& options = {});

/// Waits for the end of a process, and expects that it ended without an error and wrote nothing on standard error.
/// Returns its output. Kills a process that has not ended after ten minutes, and reports a failure.
std::string expect_success(RunningProcess& process);

/// Runs processes that connect and call `run`, to their end. Returns their outputs in the order of their ranks.
std::vector<std::string> run_group(std::int64_t size, const std::function<void(ProcessGroup&)>& run,
                                   const ConnectOptions& options = {});

}  // namespace edgewise
