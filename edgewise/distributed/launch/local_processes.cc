// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch/local_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/distributed/launch/launch_signals.h"
#include "edgewise/distributed/store.h"

namespace edgewise {
namespace {

using Clock = WaitedSignals::Clock;

constexpr int kOtherFailure = 1;

/// The array of pointers that exec needs, with the strings to which the pointers point.
class PointerArray {
 public:
  explicit PointerArray(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (std::string& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
  }
  PointerArray(const PointerArray&) = delete;
  PointerArray& operator=(const PointerArray&) = delete;

  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

std::vector<std::string> environment_of(int rank, int processes, int port, int attempt) {
  const std::pair<std::string_view, std::string> own[] = {{"RANK", std::to_string(rank)},
                                                          {"WORLD_SIZE", std::to_string(processes)},
                                                          {"LOCAL_RANK", std::to_string(rank)},
                                                          {"LOCAL_WORLD_SIZE", std::to_string(processes)},
                                                          {"MASTER_ADDR", "127.0.0.1"},
                                                          {"MASTER_PORT", std::to_string(port)},
                                                          {"TORCHELASTIC_RESTART_COUNT", std::to_string(attempt)}};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(own, [&](const auto& entry) { return entry.first == name; })) variables.emplace_back(text);
  }
  for (const auto& [name, value] : own) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

/// Makes /dev/null the standard input. Returns whether the system allows it.
bool close_input() {
  const int null = open("/dev/null", O_RDONLY);
  if (null > STDIN_FILENO) {
    dup2(null, STDIN_FILENO);
    close(null);
  }
  return null >= 0;
}

/// Replaces a process that has just been forked by the program. Ends the process if that fails.
[[noreturn]] void execute(char** words, char** environment, const WaitedSignals& signals, pid_t launcher) {
  if (!end_with_parent(launcher)) _exit(kOtherFailure);
  signals.restore_in_child();
  if (close_input()) execve(words[0], words, environment);
  const std::string text = fmt::format("run_local_processes: {} cannot be started ({}), needs to be a program\n",
                                       words[0], error_text(errno));
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(kOtherFailure);
  _exit(kUserErrorExitCode);
}

/// How a process ended. The first two are no failures.
enum class End { kSuccess, kStop, kLostProcess, kUserError, kFailure };

End end_of(int status, bool is_stop_passed) {
  // A process that has nothing to save yet does not handle the signals to stop.
  if (WIFSIGNALED(status)) return is_stop_passed && is_stop_signal(WTERMSIG(status)) ? End::kStop : End::kFailure;
  const int code = WEXITSTATUS(status);
  if (code == 0) return End::kSuccess;
  if (code == kUserErrorExitCode) return End::kUserError;
  if (code == kLostProcessExitCode) return End::kLostProcess;
  return is_stop_signal(code - 128) ? End::kStop : End::kFailure;
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string describe(std::size_t rank, int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("rank {} ended with exit code {}", rank, WEXITSTATUS(status));
}

/// One start of all processes.
class Attempt {
 public:
  struct Conclusion {
    int exit_code = 0;
    std::string failure = {};
    bool may_restart = false;
  };

  Attempt(const WaitedSignals& signals, const LocalProcessesOptions& options) : signals_(signals), options_(options) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Kills the processes that still run after an error.
  ~Attempt() {
    send(SIGKILL);
    for (const Child& child : children_) {
      while (child.is_running() && waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void start(const std::vector<std::string>& command, int attempt) {
    check(!command.empty(), "run_local_processes: command has no words, needs a program");
    const int port = find_free_port();
    const pid_t launcher = getpid();
    PointerArray words(command);
    children_.reserve(static_cast<std::size_t>(options_.processes));
    for (int rank = 0; rank < options_.processes; ++rank) {
      PointerArray environment(environment_of(rank, options_.processes, port, attempt));
      const pid_t process = fork();
      check(process >= 0,
            "run_local_processes: the system refused process {} of {} ({}), needs all; use fewer processes", rank + 1,
            options_.processes, error_text(errno));
      if (process == 0) execute(words.data(), environment.data(), signals_, launcher);
      children_.push_back({.process = process});
    }
  }

  void wait() {
    while (collect()) {
      end_others();
      const int signal = signals_.wait(deadline_);
      if (signal != 0 && signal != SIGCHLD) pass(signal);
    }
  }

  Conclusion conclude() const {
    const Child& first = children_.front();
    const std::optional<std::size_t> cause = find_cause();
    if (!cause || (is_stop_in_time_ && !is_failure(first))) return {.exit_code = exit_code_of(first.status)};
    const Child& failed = children_[*cause];
    if (end_of(failed) == End::kUserError) return {.exit_code = kUserErrorExitCode};
    const bool is_stopped = is_stop_passed_ || find_first({End::kStop}).has_value();
    return {.exit_code = kOtherFailure, .failure = describe(*cause, failed.status), .may_restart = !is_stopped};
  }

 private:
  struct Child {
    pid_t process = 0;
    int status = 0;               // as waitpid returns it
    std::size_t position = 0;     // 1 for the process whose end was seen first; 0: still running
    bool is_told_to_end = false;  // because another process failed
    bool is_running() const { return position == 0; }
  };

  End end_of(const Child& child) const { return edgewise::end_of(child.status, is_stop_passed_); }

  void send(int signal) const {
    for (const Child& child : children_) {
      if (child.is_running()) kill(child.process, signal);
    }
  }

  void pass(int signal) {
    send(signal);
    if (!is_stop_signal(signal)) return;
    is_stop_passed_ = true;
    if (has_failed()) return;
    is_stop_in_time_ = true;
    deadline_ = WaitedSignals::kNoDeadline;  // another program may have ended a process by a signal to stop just before
  }

  /// Stores how processes ended. Returns whether others still run.
  bool collect() {
    for (Child& child : children_) {
      if (child.is_running() && waitpid(child.process, &child.status, WNOHANG) == child.process) {
        child.position = ++num_ended_;
      }
    }
    return num_ended_ < children_.size();
  }

  bool is_failure(const Child& child) const { return end_of(child) != End::kSuccess && end_of(child) != End::kStop; }

  bool has_failed() const {
    return std::ranges::any_of(children_,
                               [this](const Child& child) { return !child.is_running() && is_failure(child); });
  }

  /// After a failure, ends the processes that do not end by themselves.
  void end_others() {
    const bool is_first_time = deadline_ == WaitedSignals::kNoDeadline && next_signal_ == SIGTERM;
    if (is_first_time && !is_stop_passed_ && has_failed()) deadline_ = Clock::now() + options_.grace;
    if (Clock::now() < deadline_) return;
    for (Child& child : children_) child.is_told_to_end = child.is_told_to_end || child.is_running();
    send(next_signal_);
    deadline_ = next_signal_ == SIGTERM ? Clock::now() + options_.grace : WaitedSignals::kNoDeadline;
    next_signal_ = SIGKILL;
  }

  /// Returns the rank of the process that first ended in one of these ways without being told to.
  std::optional<std::size_t> find_first(std::initializer_list<End> ends) const {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      const Child& child = children_[rank];
      if (child.is_told_to_end || std::ranges::find(ends, end_of(child)) == ends.end()) continue;
      if (!first || child.position < children_[*first].position) first = rank;
    }
    return first;
  }

  /// Returns the rank of the process that is the cause of a failed attempt.
  std::optional<std::size_t> find_cause() const {
    const std::optional<std::size_t> failed = find_first({End::kUserError, End::kFailure});
    const std::optional<std::size_t> lost = find_first({End::kLostProcess});
    if (failed || !lost || is_stop_passed_) return failed ? failed : lost;
    const std::optional<std::size_t> stopped = find_first({End::kStop});
    return stopped ? stopped : lost;
  }

  const WaitedSignals& signals_;
  const LocalProcessesOptions& options_;
  std::vector<Child> children_;
  std::size_t num_ended_ = 0;
  bool is_stop_passed_ = false;
  bool is_stop_in_time_ = false;                             // no process had failed before the stop
  Clock::time_point deadline_ = WaitedSignals::kNoDeadline;  // the time of the next signal, after a failure
  int next_signal_ = SIGTERM;                                // at the deadline
};

/// Waits before a restart. Returns the signal to stop that came meanwhile, or 0.
int wait_before_restart(const WaitedSignals& signals, std::chrono::milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  int signal = 0;
  do {
    signal = signals.wait(end);
  } while (signal != 0 && !is_stop_signal(signal));
  return signal;
}

}  // namespace

LocalProcessesResult run_local_processes(const std::vector<std::string>& command,
                                         const LocalProcessesOptions& options) {
  check(options.processes >= 1, "run_local_processes: processes is {}, needs at least 1", options.processes);
  const WaitedSignals signals;
  for (int number = 0;; ++number) {
    Attempt attempt(signals, options);
    attempt.start(command, number);
    attempt.wait();
    const Attempt::Conclusion end = attempt.conclude();
    LocalProcessesResult result = {.exit_code = end.exit_code, .failure = end.failure, .attempts = number + 1};
    if (!end.may_restart || number >= options.max_restarts) return result;
    if (const int signal = wait_before_restart(signals, options.restart_pause); signal != 0) {
      result.exit_code = 128 + signal;
      return result;
    }
    options.on_restart(end.failure, number + 1);
  }
}

}  // namespace edgewise
