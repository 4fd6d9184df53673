// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/apps/program.h"

namespace edgewise {

using Words = std::vector<std::string>;

/// Expects that a process ends, whose work has no end.
inline void expect_end(const RunningProcess& process) {
  EXPECT_TRUE(wait_until([&] { return process.has_ended(); }));
}

/// Sends a signal that the process has handled before this function returns, and stops the process.
inline void send_and_stop(const RunningProcess& process, int signal) {
  const std::int64_t num_blocking = process.num_blocking(signal);
  process.send(signal);
  // A handler runs in a thread that blocks its signal meanwhile.
  EXPECT_TRUE(wait_until([&] {
    return process.has_ended() || (!process.has_pending(signal) && process.num_blocking(signal) <= num_blocking);
  }));
  process.send(SIGSTOP);
}

/// Returns whether every thread of a process has a state in /proc.
inline bool has_state(const RunningProcess& process, char state) {
  return std::ranges::all_of(process.thread_states(), [state](char found) { return found == state; });
}

/// Returns whether every thread of a process waits, for example for a reader.
inline bool is_asleep(const RunningProcess& process) { return has_state(process, 'S'); }
inline bool is_stopped(const RunningProcess& process) { return has_state(process, 'T'); }

/// Waits until another signal is no repetition of the one before (EndSignal).
inline void pass_time_of_repetitions() { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); }

/// Starts programs in a folder with tiny.toml.
class SignalsTest : public ProgramTest {
 protected:
  SignalsTest() { write("tiny.toml", kTinyConfig); }

  RunningProcess start(Words command, const ProcessOptions& options = {}) const {
    command.insert(command.begin(), EDGEWISE_PROGRAM);
    return start_any(command, options);
  }

  RunningProcess start_any(const Words& command, ProcessOptions options = {}) const {
    options.folder = path("").string();
    return RunningProcess(command, options);
  }

  /// Starts a command and sends a signal when `is_time` returns true. Removes `output` and begins again if the command
  /// ends before the signal. Returns the result of a command that did not.
  ProcessResult signal_in_time(const Words& command, int signal, const std::string& output,
                               const std::function<bool()>& is_time) const {
    constexpr int kMostAttempts = 100;
    for (int attempt = 1;; ++attempt) {
      RunningProcess process = start(command);
      EXPECT_TRUE(wait_until([&] { return process.has_ended() || is_time(); }));
      process.send(signal);
      ProcessResult result = wait_or_kill(std::move(process));
      if (result.exit_code != 0 || attempt == kMostAttempts) return result;
      std::filesystem::remove_all(path(output));
    }
  }

  /// Starts a shell line in which `$0` is the program and `$@` are the arguments.
  RunningProcess start_shell(const std::string& line, const Words& arguments,
                             const ProcessOptions& options = {}) const {
    Words command = {"/bin/sh", "-c", line, EDGEWISE_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return start_any(command, options);
  }
};

}  // namespace edgewise
