// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "edgewise/base/error.h"
#include "tests/support/default_signals.h"

namespace edgewise {
namespace {

/// Returns the value of a line `name: value` of a file in /proc; empty if there is none.
std::string field_of(const std::filesystem::path& file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
  }
  return "";
}

/// Returns whether a set of signals, as /proc writes it, contains a signal.
bool has_signal(const std::string& set, int signal) {
  return !set.empty() && ((std::stoull(set, nullptr, 16) >> (signal - 1)) & 1) != 0;
}

}  // namespace

/// An unnamed file. Unlike a pipe, a file needs no reader while the program writes.
class ScratchFile {
 public:
  ScratchFile() : file_(std::tmpfile()) { check(file_ != nullptr, "run_process: no temporary file could be made"); }
  ~ScratchFile() { std::fclose(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int descriptor() const { return fileno(file_); }

  void fill(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), file_);
    std::rewind(file_);
  }

  std::string text() {
    std::rewind(file_);
    std::string all;
    char buffer[1 << 14];
    while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file_)) all.append(buffer, count);
    return all;
  }

 private:
  std::FILE* file_;
};

namespace {

constexpr int kNotStarted = 127;

/// Replaces this process by a program. Returns only if that fails.
int execute(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return kNotStarted;
}

void enter(const ProcessOptions& options) {
  handle_signals_by_default();
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(kNotStarted);
  for (const std::string& variable : options.environment) putenv(const_cast<char*>(variable.c_str()));
}

}  // namespace

struct RunningProcess::Files {
  ScratchFile input, output, errors;
};

RunningProcess::RunningProcess(const std::vector<std::string>& arguments, const ProcessOptions& options)
    : files_(std::make_unique<Files>()) {
  start(options, [&arguments] { return execute(arguments); });
}

RunningProcess::RunningProcess(const std::function<int()>& run, const ProcessOptions& options)
    : files_(std::make_unique<Files>()) {
  start(options, run);
}

void RunningProcess::start(const ProcessOptions& options, const std::function<int()>& run) {
  files_->input.fill(options.input);
  child_ = fork();
  check(child_ >= 0, "RunningProcess: fork returned {}", child_);
  if (child_ == 0) {
    if (options.has_own_group) setpgid(0, 0);
    dup2(files_->input.descriptor(), STDIN_FILENO);
    dup2(files_->output.descriptor(), STDOUT_FILENO);
    dup2(files_->errors.descriptor(), STDERR_FILENO);
    enter(options);
    _exit(run());
  }
  if (options.has_own_group) setpgid(child_, child_);  // in both processes, so that neither needs to wait
}

RunningProcess::RunningProcess(RunningProcess&& other) noexcept
    : files_(std::move(other.files_)), child_(std::exchange(other.child_, 0)) {}

RunningProcess::~RunningProcess() {
  if (child_ == 0) return;
  send(SIGKILL);
  wait();
}

void RunningProcess::send(int signal) const { kill(child_, signal); }

void RunningProcess::send_to_group(int signal) const { kill(-child_, signal); }

bool RunningProcess::has_ended() const {
  siginfo_t end = {};
  waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT);
  return end.si_pid == child_;
}

std::string RunningProcess::status(const std::string& name) const {
  return field_of("/proc/" + std::to_string(child_) + "/status", name);
}

bool RunningProcess::has_pending(int signal) const { return has_signal(status("ShdPnd"), signal); }

std::int64_t RunningProcess::num_blocking(int signal) const {
  std::int64_t count = 0;
  std::error_code ended;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(child_) + "/task", ended)) {
    count += has_signal(field_of(thread.path() / "status", "SigBlk"), signal) ? 1 : 0;
  }
  return count;
}

std::int64_t RunningProcess::peak_addresses() const {
  const std::string kibibytes = status("VmPeak");
  return kibibytes.empty() ? 0 : 1024 * std::stoll(kibibytes);
}

std::vector<char> RunningProcess::thread_states() const {
  std::vector<char> states;
  std::error_code ended;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(child_) + "/task", ended)) {
    std::string line;
    std::getline(std::ifstream(thread.path() / "stat"), line);
    const std::size_t name_end = line.rfind(") ");
    if (name_end != std::string::npos) states.push_back(line[name_end + 2]);
  }
  return states;
}

double RunningProcess::processor_seconds() const {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

ProcessResult RunningProcess::wait() {
  int status = 0;
  rusage usage = {};
  wait4(std::exchange(child_, 0), &status, 0, &usage);
  const int exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {exit_code, files_->output.text(), files_->errors.text(), 1024 * usage.ru_maxrss};
}

void wait_for(const std::filesystem::path& path) {
  const bool exists = wait_until([&] { return std::filesystem::exists(path); });
  check(exists, "wait_for: {} does not exist after ten minutes, needs to", path.string());
}

bool wait_until(const std::function<bool()>& is_true) {
  constexpr int kMostPolls = 600'000;
  for (int poll = 0; poll < kMostPolls; ++poll) {
    if (is_true()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void wait_for_work(const RunningProcess& process, double seconds) {
  const double end = process.processor_seconds() + seconds;
  wait_until([&] { return process.has_ended() || process.processor_seconds() >= end; });
}

ProcessResult wait_or_kill(RunningProcess process) {
  if (!wait_until([&] { return process.has_ended(); })) process.send(SIGKILL);
  return process.wait();
}

ProcessResult complete(RunningProcess process, const ProcessOptions& options) {
  if (options.signal != 0) {
    wait_for(options.signal_when);
    process.send(options.signal);
  }
  return process.wait();
}

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return complete(RunningProcess(arguments, options), options);
}

}  // namespace edgewise
