// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace edgewise {

struct ProcessResult {
  int exit_code = 0;  // 128 + n after signal n
  std::string output;
  std::string errors;
  std::int64_t peak_memory = 0;  // bytes
};

struct ProcessOptions {
  std::string input = {};                     // text of standard input
  std::vector<std::string> environment = {};  // NAME=value, added to the inherited environment
  std::string folder = {};                    // working directory; empty: the current one
  int signal = 0;                             // signal to send once the path `signal_when` exists; 0: none
  std::string signal_when = {};
  bool has_own_group = false;  // whether the process leads a process group, as a job of a terminal does
};

/// A program that runs in parallel with the test. `arguments[0]` is its path.
class RunningProcess {
 public:
  explicit RunningProcess(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
  /// Runs a function in a copy of this process, which ends with the exit code that the function returns.
  RunningProcess(const std::function<int()>& run, const ProcessOptions& options);
  RunningProcess(RunningProcess&& other) noexcept;
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess();

  void send(int signal) const;

  /// Sends a signal to the group of a process that has its own, as a terminal does at Ctrl-C.
  void send_to_group(int signal) const;

  bool has_ended() const;

  /// Returns whether the process has a signal that it has not handled yet, for example because it is stopped.
  bool has_pending(int signal) const;

  /// Returns how many threads of the process block a signal.
  std::int64_t num_blocking(int signal) const;

  /// Returns the state of each thread in /proc: R (running), S (waiting), T (stopped), Z (ended) …
  std::vector<char> thread_states() const;

  /// Returns the most bytes of addresses that the process has had, or 0 if it has ended.
  std::int64_t peak_addresses() const;

  /// Returns the seconds for which all threads of the process have computed.
  double processor_seconds() const;

  /// Waits for the end of the program. May be called once.
  ProcessResult wait();

 private:
  struct Files;

  /// Returns the text after a name in /proc/PID/status, or none if the process has ended.
  std::string status(const std::string& name) const;

  void start(const ProcessOptions& options, const std::function<int()>& run);

  std::unique_ptr<Files> files_;
  pid_t child_ = 0;
};

/// Waits until a path exists. Throws Error after ten minutes.
void wait_for(const std::filesystem::path& path);

/// Waits until `is_true` returns true, for at most ten minutes. Returns whether it did.
bool wait_until(const std::function<bool()>& is_true);

/// Waits until a process has computed for `seconds` more, or has ended.
void wait_for_work(const RunningProcess& process, double seconds);

/// Waits for the end of the program for at most ten minutes, and then kills the program.
ProcessResult wait_or_kill(RunningProcess process);

/// Sends the signal of `options`, if it has one, and waits for the end.
ProcessResult complete(RunningProcess process, const ProcessOptions& options);

/// Runs a program to completion.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace edgewise
