// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/local_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/error.h"
#include "edgewise/distributed/free_port.h"

namespace edgewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOtherFailure = 1;
constexpr int kCannotStart = 127;
constexpr auto kPauseBeforeRestart = std::chrono::seconds(1);
constexpr std::initializer_list<int> kPassedSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

bool is_stop(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

/// Blocks the signals that the launcher waits for, so that none is lost between two waits.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int signal : kPassedSignals) sigaddset(&signals_, signal);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  const sigset_t& before() const { return before_; }

  /// Returns the next signal; 0 at the deadline.
  int wait(std::optional<Clock::time_point> deadline) const {
    while (true) {
      int signal = 0;
      if (deadline) {
        const auto left = std::max(Clock::duration::zero(), *deadline - Clock::now());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec time = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
        signal = sigtimedwait(&signals_, nullptr, &time);
      } else {
        signal = sigwaitinfo(&signals_, nullptr);
      }
      if (signal > 0) return signal;
      if (errno == EAGAIN) return 0;
    }
  }

 private:
  sigset_t signals_;
  sigset_t before_;
};

/// The pointers that exec needs, with the strings to which they point.
class PointerList {
 public:
  explicit PointerList(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (std::string& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

std::vector<std::string> environment_of(int rank, int size, int port, int attempt) {
  std::vector<std::string> variables = {fmt::format("RANK={}", rank),
                                        fmt::format("WORLD_SIZE={}", size),
                                        fmt::format("LOCAL_RANK={}", rank),
                                        fmt::format("LOCAL_WORLD_SIZE={}", size),
                                        "MASTER_ADDR=127.0.0.1",
                                        fmt::format("MASTER_PORT={}", port),
                                        fmt::format("TORCHELASTIC_RESTART_COUNT={}", attempt)};
  const std::size_t num_own = variables.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool is_own = std::any_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(num_own),
                                    [&](const std::string& own) { return own.starts_with(name); });
    if (!is_own) variables.emplace_back(text);
  }
  return variables;
}

/// Becomes the program, in a new process. Calls async-signal-safe functions only.
[[noreturn]] void become(char** words, char** environment, const sigset_t& signals, pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launcher) _exit(kCannotStart);  // the launcher ended before
  if (const int null = open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) dup2(null, STDIN_FILENO);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execve(words[0], words, environment);
  _exit(kCannotStart);
}

struct Child {
  pid_t process = 0;
  std::optional<int> status;    // as waitpid returns it, after the end
  bool is_ended_by_us = false;  // got a signal because another one failed
  bool is_running() const { return !status.has_value(); }
};

/// How a process ended, from the least to the most telling about the cause.
enum class End { kSuccess, kStopped, kLostProcess, kUserError, kOther, kSignal };

End end_of(int status) {
  if (WIFSIGNALED(status)) return End::kSignal;
  const int code = WEXITSTATUS(status);
  if (code == 0) return End::kSuccess;
  if (code == kUserErrorExitCode) return End::kUserError;
  if (code == kLostProcessExitCode) return End::kLostProcess;
  return is_stop(code - 128) ? End::kStopped : End::kOther;
}

bool is_failure(End end) { return end > End::kStopped; }

std::string describe(std::size_t rank, int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("rank {} ended with exit code {}", rank, WEXITSTATUS(status));
}

/// One start of all processes.
class Attempt {
 public:
  Attempt(const BlockedSignals& signals, const LocalProcessesOptions& options) : signals_(signals), options_(options) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {  // after an error of start()
    send(SIGKILL);
    for (Child& child : children_) {
      if (child.is_running()) waitpid(child.process, nullptr, 0);
    }
  }

  void start(const std::vector<std::string>& command, int attempt) {
    const int port = find_free_port();
    PointerList words(command);
    const pid_t launcher = getpid();
    for (int rank = 0; rank < options_.processes; ++rank) {
      PointerList environment(environment_of(rank, options_.processes, port, attempt));
      const pid_t process = fork();
      check(process >= 0, "train: the system refused process {} of {} ({}), needs all; use fewer --processes", rank + 1,
            options_.processes, std::strerror(errno));
      if (process == 0) become(words.data(), environment.data(), signals_.before(), launcher);
      children_.push_back({process, std::nullopt, false});
    }
  }

  void wait() {
    while (std::ranges::any_of(children_, &Child::is_running)) {
      const int signal = signals_.wait(deadline_);
      if (signal > 0 && signal != SIGCHLD) {
        send(signal);
        is_stopped_ = is_stopped_ || is_stop(signal);
      }
      collect();
      end_others();
    }
  }

  bool is_stopped() const { return is_stopped_; }

  /// Returns the rank of the process that tells most about the cause of the end.
  std::size_t cause() const {
    const auto weight = [](const Child& child) {
      const End end = end_of(*child.status);
      return child.is_ended_by_us && end == End::kSignal ? End::kLostProcess : end;
    };
    return static_cast<std::size_t>(std::ranges::max_element(children_, {}, weight) - children_.begin());
  }

  int status_of(std::size_t rank) const { return *children_[rank].status; }

 private:
  void send(int signal) {
    for (const Child& child : children_) {
      if (child.is_running()) kill(child.process, signal);
    }
  }

  void collect() {
    for (Child& child : children_) {
      int status = 0;
      if (child.is_running() && waitpid(child.process, &status, WNOHANG) == child.process) child.status = status;
    }
  }

  /// After a failure, ends the processes that do not end by themselves.
  void end_others() {
    if (!deadline_) {
      const bool has_failed = std::ranges::any_of(
          children_, [](const Child& child) { return child.status && is_failure(end_of(*child.status)); });
      if (has_failed) deadline_ = Clock::now() + options_.grace;
      return;
    }
    if (Clock::now() < *deadline_) return;
    for (Child& child : children_) child.is_ended_by_us = child.is_ended_by_us || child.is_running();
    send(next_signal_);
    next_signal_ = SIGKILL;
    deadline_ = Clock::now() + options_.grace;
  }

  const BlockedSignals& signals_;
  const LocalProcessesOptions& options_;
  std::vector<Child> children_;
  bool is_stopped_ = false;
  std::optional<Clock::time_point> deadline_;  // for the others, after a failure
  int next_signal_ = SIGTERM;
};

int exit_code_of(End end, int status) {
  switch (end) {
    case End::kSuccess:
      return 0;
    case End::kStopped:
      return WEXITSTATUS(status);
    case End::kUserError:
      return kUserErrorExitCode;
    default:
      return kOtherFailure;
  }
}

}  // namespace

LocalProcessesResult run_local_processes(const std::vector<std::string>& command,
                                         const LocalProcessesOptions& options) {
  const BlockedSignals signals;
  LocalProcessesResult result;
  while (true) {
    Attempt attempt(signals, options);
    attempt.start(command, result.restarts);
    attempt.wait();
    const std::size_t rank = attempt.cause();
    const int status = attempt.status_of(rank);
    const End end = end_of(status);
    result.exit_code = exit_code_of(end, status);
    result.failure = end > End::kUserError ? describe(rank, status) : "";
    const bool may_restart = is_failure(end) && end != End::kUserError && !attempt.is_stopped();
    if (!may_restart || result.restarts == options.max_restarts) return result;
    // A signal to stop during the pause ends the restarts.
    const int signal = signals.wait(Clock::now() + kPauseBeforeRestart);
    if (is_stop(signal)) return {.exit_code = 128 + signal, .failure = result.failure, .restarts = result.restarts};
    options.on_restart(result.failure, ++result.restarts);
  }
}

}  // namespace edgewise
