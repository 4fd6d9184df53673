// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/distributed/launch/local_processes.h"
#include "tests/apps/program.h"

namespace edgewise {

/// Starts launchers of processes that run shell scripts. A launcher is a process too, so that it has one thread and
/// receives signals.
class LauncherTest : public ProgramTest {
 protected:
  /// Ends like a training that is stopped: saves, and returns 128 + n after signal n. Saves after SIGUSR1 and goes on.
  static inline const std::string kTraining =
      "trap 'touch saved$RANK; exit 129' HUP; trap 'touch saved$RANK; exit 130' INT; trap 'touch saved$RANK; exit 143' "
      "TERM; trap 'touch kept$RANK' USR1\n"
      "echo $$ > process$RANK\n"
      "while :; do sleep 0.05; done\n";

  /// A process that others do not disturb. Unlike kTraining, it does not handle signals.
  static inline const std::string kSleep = "{ echo $$ > process$RANK; exec sleep 600; }\n";

  /// Writes the number of the process to a file.
  static inline const std::string kNumber = "echo $$ > process$RANK\n";

  /// Waits until the launcher has collected the status of the process `rank`, whose script began with kNumber.
  static std::string end_of(int rank) {
    const std::string file = "process" + std::to_string(rank);
    return "\nuntil [ -s " + file + " ]; do sleep 0.01; done\nwhile kill -0 $(cat " + file +
           ") 2>/dev/null; do sleep 0.01; done\n";
  }

  static std::vector<std::string> shell_command(const std::string& script) { return {"/bin/sh", "-c", script}; }

  /// Runs the launcher and prints its result.
  static int launch_here(const std::vector<std::string>& command, LocalProcessesOptions options) {
    const auto print = [](const std::string& line) {
      std::puts(line.c_str());
      std::fflush(stdout);
    };
    options.on_restart = [&](const std::string& failure, int attempt) {
      print("attempt " + std::to_string(attempt) + " because " + failure);
    };
    try {
      const LocalProcessesResult result = run_local_processes(command, options);
      print(result.failure + "; attempts: " + std::to_string(result.attempts));
      return result.exit_code;
    } catch (const Error& error) {
      print(error.what());
      return 100;
    }
  }

  static LocalProcessesOptions two_processes(int max_restarts = 0,
                                             std::chrono::milliseconds grace = std::chrono::milliseconds(200)) {
    return {
        .processes = 2, .max_restarts = max_restarts, .grace = grace, .restart_pause = std::chrono::milliseconds(1)};
  }

  static constexpr auto kLong = std::chrono::minutes(10);

  RunningProcess start(const std::function<int()>& run) const {
    std::fflush(stdout);  // a fork copies what is not written yet
    return RunningProcess(run, {.folder = path("").string()});
  }

  RunningProcess launch(const std::vector<std::string>& command, const LocalProcessesOptions& options) const {
    return start([&] { return launch_here(command, options); });
  }

  ProcessResult run_script(const std::string& script, const LocalProcessesOptions& options = two_processes()) const {
    return wait_or_kill(launch(shell_command(script), options));
  }

  /// Returns the process whose number a script wrote to a file.
  pid_t process_in(const std::string& name) const {
    EXPECT_TRUE(wait_until([&] { return read(name).ends_with('\n'); })) << name;
    return std::stoi(read(name));
  }

  /// Returns the state of a process in /proc: R, S, T (stopped), Z (ended) …; X after its end.
  static char state_of(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string number, name;
    char state = 'X';
    stat >> number >> name >> state;
    return state;
  }

  static bool is_running(pid_t process) { return state_of(process) != 'X' && state_of(process) != 'Z'; }

  /// Returns how many processes have a word as an argument.
  static int processes_with(const std::string& word) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ostringstream arguments;
      arguments << std::ifstream(entry.path() / "cmdline", std::ios::binary).rdbuf();
      count += arguments.str().find(word) == std::string::npos ? 0 : 1;
    }
    return count;
  }

  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
};

}  // namespace edgewise
