// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace edgewise {

struct ProcessResult {
  int exit_code = 0;  // 128 + n when signal n ended it
  std::string output;
  std::string errors;
};

struct ProcessOptions {
  std::string input = {};                     // what its standard input holds
  std::vector<std::string> environment = {};  // NAME=value, beside what it inherits
  std::string folder = {};                    // where it runs; empty: here
  int signal = 0;                             // sent to it once `signal_when` exists; 0: none
  std::string signal_when = {};               // a path
};

/// A program that runs beside the test. `arguments[0]` is its path.
class RunningProcess {
 public:
  explicit RunningProcess(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess();

  void send(int signal) const;
  bool has_ended() const;

  /// Waits for its end, once.
  ProcessResult wait();

 private:
  struct Files;

  std::unique_ptr<Files> files_;
  pid_t child_ = 0;
};

/// Until a path exists, for a minute at most.
void wait_for(const std::filesystem::path& path);

/// Runs a program to its end.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace edgewise
