// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Runs a program to its end. `arguments[0]` is its path.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace edgewise
