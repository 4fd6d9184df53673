// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace edgewise {

/// The exit code of a process that ends because it lost another process, which has the cause.
inline constexpr int kLostProcessExitCode = 3;

struct LocalProcessesOptions {
  int processes = 1;
  int max_restarts = 0;
  std::chrono::milliseconds grace = std::chrono::seconds(10);         // see run_local_processes
  std::chrono::milliseconds restart_pause = std::chrono::seconds(1);  // between two attempts

  /// Receives why an attempt failed, before attempt number `attempt` begins; the first attempt has number 0.
  std::function<void(const std::string& failure, int attempt)> on_restart = [](const std::string&, int) {};
};

struct LocalProcessesResult {
  int exit_code = 0;
  std::string failure;  // may be one that nobody printed: "rank 2 was ended by signal 9 (Killed)"
  int attempts = 0;
};

/// Runs a program, the first word of `command`, in several processes of this machine, and returns when all of them have
/// ended.
///
/// Each process has /dev/null as its standard input, gets SIGTERM when this process ends, in whatever way, and has the
/// environment variables of torchrun (launch_environment.h): RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT (a port that was free before the attempt) and TORCHELASTIC_RESTART_COUNT (the number of the
/// attempt).
///
/// SIGINT, SIGTERM, SIGHUP and SIGUSR1 are passed on to the processes, except those that this process ignores. After
/// one of the first three, the signals to stop, the processes have as long as they need to save. Otherwise, when a
/// process fails, the others have the time `grace` to end. Then they get SIGTERM and, after `grace` again, SIGKILL.
///
/// The cause of a failed attempt is the process that failed first; a process that lost another one counts only if no
/// process failed otherwise. All processes start again, at most `max_restarts` times, except after exit code 2, which
/// means that another attempt would fail too, and after a stop. The exit code of the result is
/// - 0 if all processes succeeded;
/// - 128 + n after signal n to stop between two attempts;
/// - after another stop, the exit code of rank 0, which saves for all, if rank 0 did not fail and no process had failed
///   before; 128 + n if signal n to stop ended it;
/// - 2 if the process that is the cause had exit code 2, and has printed its error;
/// - 1 with the text `failure` otherwise.
///
/// The calling process has no other thread, or all others block these signals. Throws Error if the system refuses a
/// process or a port; no process runs then.
LocalProcessesResult run_local_processes(const std::vector<std::string>& command, const LocalProcessesOptions& options);

}  // namespace edgewise
