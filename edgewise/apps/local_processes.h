// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace edgewise {

/// The exit code of a process that ends because it lost another one, which has the cause.
inline constexpr int kLostProcessExitCode = 3;

struct LocalProcessesOptions {
  int processes = 1;
  int max_restarts = 0;
  std::chrono::milliseconds grace = std::chrono::seconds(10);  // see run_local_processes
  std::function<void(const std::string& failure, int restart)> on_restart = [](const std::string&, int) {};
};

struct LocalProcessesResult {
  int exit_code = 0;    // 0 if all succeeded; 128 + n after a signal to stop; 2 if a process had this code; else 1
  std::string failure;  // the failure of a process that printed none itself: "rank 2 was ended by signal 9 (Killed)"
  int restarts = 0;
};

/// Runs a program in several processes of this machine, and returns when all have ended. Each gets the environment
/// variables of torchrun (launch_environment.h), /dev/null as standard input, and SIGTERM when this process ends.
///
/// Passes SIGINT, SIGTERM, SIGHUP and SIGUSR1 on to the processes, and then waits for them as long as they need. If one
/// fails, the others have `grace` to end, then get SIGTERM, and SIGKILL after `grace` again. After a process was ended
/// by a signal, lost another one or had an unknown exit code, all start again, at most `max_restarts` times; exit code
/// 2 means that the input is wrong, so that another start would fail too.
///
/// The calling process must have no other thread. Throws Error if a process or a port cannot be had.
LocalProcessesResult run_local_processes(const std::vector<std::string>& command, const LocalProcessesOptions& options);

}  // namespace edgewise
