// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include "tests/apps/program.h"
#include "tests/support/terminal.h"

namespace edgewise {
namespace {

/// Runs a program on a terminal of `columns` columns and returns its output.
std::string run_on_terminal(unsigned short columns, const std::filesystem::path& folder,
                            const std::vector<std::string>& arguments) {
  const auto [child, terminal] = start_on_terminal(columns, folder, arguments);
  std::string output;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(terminal, buffer, sizeof buffer)) > 0;) output.append(buffer, count);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(terminal);
  return output;
}

using ProgressProgram = ProgramTest;

TEST_F(ProgressProgram, RedrawsOneLineNoWiderThanItsTerminal) {
  write("tiny.toml", kTinyConfig);

  const std::string output = run_on_terminal(
      50, path(""),
      {EDGEWISE_PROGRAM, "train", "tiny.toml", "--out", "run", "--set", "train.steps=150", "--set", "train.epochs=0"});

  const std::string clear = "\x1b[K";
  std::size_t drawn = 0;
  for (std::size_t end = output.find(clear); end != std::string::npos; end = output.find(clear, end + 1)) {
    const std::size_t begin = output.rfind('\r', end) + 1;
    const std::string line = output.substr(begin, end - begin);
    EXPECT_LT(line.size(), 50U) << line;
    EXPECT_EQ(line.find("step "), 0U) << line;
    EXPECT_NE(line.find("loss "), std::string::npos) << line;
    ++drawn;
  }
  EXPECT_GE(drawn, 1U) << output;
  EXPECT_NE(output.find("validation loss"), std::string::npos);
}

}  // namespace
}  // namespace edgewise
