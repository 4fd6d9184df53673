// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace edgewise {

struct ProcessResult {
  int exit_code = 0;  // 128 + n after signal n
  std::string output;
  std::string errors;
};

struct ProcessOptions {
  std::string input = {};                     // text of standard input
  std::vector<std::string> environment = {};  // NAME=value, added to the inherited environment
  std::string folder = {};                    // working directory; empty: the current one
  int signal = 0;                             // signal to send once the path `signal_when` exists; 0: none
  std::string signal_when = {};
};

/// A program that runs in parallel with the test. `arguments[0]` is its path.
class RunningProcess {
 public:
  explicit RunningProcess(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess();

  void send(int signal) const;
  bool has_ended() const;

  /// Waits for the end of the program. May be called once.
  ProcessResult wait();

 private:
  struct Files;

  std::unique_ptr<Files> files_;
  pid_t child_ = 0;
};

/// Waits until a path exists, for at most one minute.
void wait_for(const std::filesystem::path& path);

/// Runs a program to completion.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace edgewise
