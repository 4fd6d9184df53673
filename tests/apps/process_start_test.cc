// SPDX-License-Identifier: Apache-2.0
// The first moments of a program: its environment, its working directory, and signals before its libraries have
// started.
#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <vector>

#include "edgewise/apps/train_signals.h"
#include "tests/apps/signals.h"

namespace edgewise {
namespace {

constexpr const char* kPrograms[] = {EDGEWISE_PROGRAM, EDGEWISE_TRANSLATE, EDGEWISE_DOCTOR, EDGEWISE_SERVER};

class ProcessStart : public SignalsTest {
 protected:
  /// Starts a training of a few steps, and stops it before main.
  RunningProcess start_stopped(const Words& command) const {
    RunningProcess process = start(command, {.environment = {"LD_PRELOAD=" EDGEWISE_STOP_AT_START}});
    EXPECT_TRUE(wait_until([&] { return process.has_ended() || is_stopped(process); }));
    return process;
  }
};

TEST_F(ProcessStart, AWrongNumberOfThreadsIsOneWarning) {
  for (const std::string program : kPrograms) {
    const std::string name = std::filesystem::path(program).filename().string();
    for (const std::string value : {"abc", "0", "-3", "1025", "99999999999999999999", "2,", "2;3", ""}) {
      const ProcessResult result = run_process({program, "--version"}, {.environment = {"OMP_NUM_THREADS=" + value}});
      EXPECT_EQ(result.exit_code, 0);
      EXPECT_EQ(result.errors, name + ": warning: OMP_NUM_THREADS is \"" + value +
                                   "\", needs a number from 1 to 1024; it has no effect\n");
    }
    for (const std::string value : {"1", " 2 ", "3,2"}) {
      EXPECT_EQ(run_process({program, "--version"}, {.environment = {"OMP_NUM_THREADS=" + value}}).errors, "");
    }
  }
}

TEST_F(ProcessStart, OtherVariablesOfOpenMpHaveNoEffect) {
  const std::vector<std::string> environment = {"OMP_SCHEDULE=often",  "OMP_STACKSIZE=much",  "OMP_PROC_BIND=tight",
                                                "OMP_DYNAMIC=perhaps", "OMP_PLACES={",        "GOMP_CPU_AFFINITY=x",
                                                "GOMP_SPINCOUNT=few",  "OMP_DISPLAY_ENV=true"};
  for (const char* program : kPrograms) {
    const ProcessResult result = run_process({program, "--version"}, {.environment = environment});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
  }
}

TEST_F(ProcessStart, RelativeNamesInARemovedDirectoryAreErrorsOfTheCommand) {
  const std::string enter = R"(mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@")";
  const ProcessResult picture = start_shell(enter, {"picture", "graph", "causal", "-o", "x.svg"}).wait();
  EXPECT_EQ(picture.exit_code, 2);
  EXPECT_EQ(picture.errors, "picture graph: x.svg: No such file or directory; nothing was replaced\n");
  const ProcessResult training = start_shell(enter, {"train", "tiny.toml", "--out", "run"}).wait();
  EXPECT_EQ(training.exit_code, 2);
  EXPECT_EQ(training.errors, "read_config: tiny.toml: No such file or directory\n");
  const std::string file = path("x.svg").string();
  EXPECT_EQ(start_shell(enter, {"picture", "graph", "causal", "-o", file}).wait().errors, "");
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(ProcessStart, ARequestToSaveBeforeMainDoesNotEndATraining) {
  RunningProcess process = start_stopped({"train", "tiny.toml", "--out", "run"});
  process.send(SIGUSR1);
  process.send(SIGCONT);
  const ProcessResult result = wait_or_kill(std::move(process));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(std::filesystem::exists(path("run/last")));
}

TEST_F(ProcessStart, TheSameSignalEndsACommandThatHasNothingToSave) {
  RunningProcess process = start_stopped({"picture", "graph", "causal", "-o", "x.svg"});
  process.send(SIGUSR1);
  process.send(SIGCONT);
  EXPECT_EQ(wait_or_kill(std::move(process)).exit_code, 128 + SIGUSR1);
}

TEST_F(ProcessStart, ATrainingHandlesRequestsThatItsLauncherBlocks) {
  RunningProcess process(
      [] {
        sigset_t requests;
        sigemptyset(&requests);
        sigaddset(&requests, SIGUSR1);
        sigprocmask(SIG_BLOCK, &requests, nullptr);
        std::raise(SIGUSR1);
        TrainSignals signals;
        return signals.requests().save ? 0 : 1;
      },
      {});
  EXPECT_EQ(process.wait().exit_code, 0);
}

TEST_F(ProcessStart, ARequestAfterTheEndOfATrainingDoesNoHarm) {
  RunningProcess process(
      [] {
        { TrainSignals signals; }
        std::raise(SIGUSR1);
        return 0;
      },
      {});
  EXPECT_EQ(process.wait().exit_code, 0);
}

TEST_F(ProcessStart, TheNextRunRemovesTheTemporaryFileOfAProcessThatIsGone) {
  write(".x.svg.tmp-4194304-0", "half of a picture");
  write(".other.svg.tmp-4194304-0", "of another file");
  run_well({"picture", "graph", "causal", "-o", "x.svg"});
  EXPECT_FALSE(std::filesystem::exists(path(".x.svg.tmp-4194304-0")));
  EXPECT_TRUE(std::filesystem::exists(path(".other.svg.tmp-4194304-0")));
}

TEST_F(ProcessStart, ADeviceIsNoFileToReplace) {
  for (const char* device : {"/dev/full", "/dev/null"}) {
    std::filesystem::create_symlink(device, path("x.svg"));
    expect_refused({"picture", "graph", "causal", "-o", "x.svg"},
                   "picture graph: x.svg is not a regular file, needs one to replace");
    std::filesystem::remove(path("x.svg"));
  }
}

}  // namespace
}  // namespace edgewise
