// SPDX-License-Identifier: Apache-2.0
// Tests the files and exit codes of programs other than trainings that a signal ends.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>
#include <optional>

#include "edgewise/base/files/file_system.h"
#include "tests/apps/signals.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

class TranslateSignalsTest : public SignalsTest {
 protected:
  TranslateSignalsTest() {
    run_well({"train", "tiny.toml", "--out", "run"});
    mkfifo(path("pipe").c_str(), 0600);
    input_.emplace(::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));  // never at its end
    write("out.txt", "earlier\n");
  }

  /// Starts to translate an endless input into out.txt, and waits until it is being written.
  RunningProcess translate() {
    const std::set<std::string> before = names_in(path(""));
    RunningProcess process = start({"translate", "--model", "run", "--out", "out.txt", "pipe"});
    write_all(*input_, "a b\nc\n");
    EXPECT_TRUE(wait_until([&] { return names_in(path("")).size() > before.size(); }));
    return process;
  }

  std::optional<FileDescriptor> input_;
};

TEST_F(TranslateSignalsTest, ASignalEndsTranslatingAtOnceAndLeavesNoFile) {
  const std::set<std::string> before = names_in(path(""));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    RunningProcess process = translate();
    process.send(signal);
    expect_end(process);
    EXPECT_EQ(process.wait().exit_code, 128 + signal);
    EXPECT_EQ(names_in(path("")), before);
    EXPECT_EQ(read("out.txt"), "earlier\n");
  }
}

TEST_F(TranslateSignalsTest, ALaterRunRemovesWhatAKilledRunLeft) {
  const std::set<std::string> before = names_in(path(""));
  {
    RunningProcess process = translate();
    process.send(SIGKILL);
    process.wait();
  }
  EXPECT_NE(names_in(path("")), before);
  write("in", "a b\n");
  run_well({"translate", "--model", "run", "--out", "out.txt", "in"});
  std::filesystem::remove(path("in"));
  EXPECT_EQ(names_in(path("")), before);
}

class VocabSignalsTest : public SignalsTest {};

TEST_F(VocabSignalsTest, ASignalEndsLearningAtOnceAndLeavesNoFile) {
  std::string text;
  for (std::int64_t i = 0; i < 1'000'000; ++i)
    text += fmt::format("{} {}\n", i * 7919 % 1'000'003, i * 104'729 % 1'000'003);
  write("in", text);
  write("out", text);
  write("config.toml", "[data]\ntrain = [\"in\", \"out\"]\n[vocabulary]\nkind = \"sentencepiece\"\nsize = 8000\n");
  const std::set<std::string> before = names_in(path(""));
  for (const double seconds : {0.0, 0.5}) {
    RunningProcess process = start({"vocab", "config.toml", "--out", "vocabulary"});
    wait_for_work(process, seconds);
    process.send(SIGTERM);
    expect_end(process);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGTERM);
    EXPECT_EQ(names_in(path("")), before);
  }
}

}  // namespace
}  // namespace edgewise
