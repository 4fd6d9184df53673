// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pty.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/default_signals.h"

namespace edgewise {

/// A program on a terminal of its own. `terminal` is the terminal's other side: reading it gives what the program
/// prints, and closing it hangs up.
struct TerminalProcess {
  pid_t child = 0;
  int terminal = -1;
};

inline TerminalProcess start_on_terminal(unsigned short columns, const std::filesystem::path& folder,
                                         const std::vector<std::string>& arguments) {
  winsize size = {};
  size.ws_col = columns;
  size.ws_row = 24;
  TerminalProcess process;
  process.child = forkpty(&process.terminal, nullptr, nullptr, &size);
  if (process.child == 0) {
    handle_signals_by_default();
    std::vector<char*> words;
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    if (chdir(folder.c_str()) == 0) execv(words[0], words.data());
    _exit(127);
  }
  return process;
}

}  // namespace edgewise
