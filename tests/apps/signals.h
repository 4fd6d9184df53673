// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tests/apps/program.h"

namespace edgewise {

using Words = std::vector<std::string>;

inline constexpr auto kSoon = std::chrono::seconds(20);  // generous: the machine may be busy

/// Measures the time until a process ends, and stops waiting after a minute.
inline std::chrono::steady_clock::duration time_to_end(const RunningProcess& process) {
  const auto begin = std::chrono::steady_clock::now();
  wait_until([&] { return process.has_ended(); });
  return std::chrono::steady_clock::now() - begin;
}

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

  /// Starts a shell line in which `$0` is the program and `$@` are the arguments.
  RunningProcess start_shell(const std::string& line, const Words& arguments,
                             const ProcessOptions& options = {}) const {
    Words command = {"/bin/sh", "-c", line, EDGEWISE_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return start_any(command, options);
  }
};

}  // namespace edgewise
