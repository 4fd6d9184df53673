// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch/local_processes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <thread>
#include <utility>

#include "tests/apps/local_launcher.h"

namespace edgewise {
namespace {

using testing::StartsWith;

using LocalProcesses = LauncherTest;

TEST_F(LocalProcesses, HaveTheEnvironmentOfTorchrunAndNoOtherChange) {
  const std::string script =
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $TORCHELASTIC_RESTART_COUNT $KEPT > "
      "rank$RANK\n"
      "echo $MASTER_PORT > port$RANK\n"
      "tr '\\0' '\\n' < /proc/$$/environ | grep -c ^WORLD_SIZE= > sizes$RANK\n"
      "env | grep -v -e RANK -e MASTER -e WORLD -e TORCHELASTIC > other$RANK";
  const ProcessResult result = wait_or_kill(start([&] {
    setenv("KEPT", "kept value", 1);
    setenv("WORLD_SIZE", "77", 1);
    setenv("RANK", "76", 1);
    const ProcessResult direct = run_process({"/bin/sh", "-c", "RANK=D;" + script});
    return direct.exit_code + launch_here(shell_command(script), {.processes = 3});
  }));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "; attempts: 1\n");
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_EQ(read("rank" + rank), fmt::format("{0} 3 {0} 3 127.0.0.1 0 kept value\n", rank));
    EXPECT_EQ(read("port" + rank), read("port0"));
    EXPECT_EQ(read("sizes" + rank), "1\n");
    EXPECT_EQ(read("other" + rank), read("otherD"));
  }
  EXPECT_GT(std::stoi(read("port0")), 1023);
}

TEST_F(LocalProcesses, ReadNothingAndPrintToTheStreamsOfTheLauncher) {
  std::fflush(stdout);
  const ProcessResult result = wait_or_kill(RunningProcess(
      [] { return launch_here(shell_command("cat; echo \"output\"; echo \"errors\" >&2"), {.processes = 1}); },
      ProcessOptions{.input = "nobody reads this"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "output\n; attempts: 1\n");
  EXPECT_EQ(result.errors, "errors\n");
}

TEST_F(LocalProcesses, EndWhenOneHasWrongInput) {
  const ProcessResult result = run_script("[ $RANK = 0 ] || exit 2;" + kSleep, two_processes(3));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "; attempts: 1\n");
}

TEST_F(LocalProcesses, SayWhichOneWasKilled) {
  const ProcessResult result = run_script("[ $RANK = 0 ] || kill -KILL $$;" + kSleep);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 was ended by signal 9 (Killed); attempts: 1\n");
}

TEST_F(LocalProcesses, SayTheCauseAndNotWhoLostIt) {
  const ProcessResult result = run_script(
      kNumber + "[ $RANK = 1 ] || exit 3;" + end_of(0) + end_of(2) + "kill -SEGV $$", {.processes = 3, .grace = kLong});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 was ended by signal 11 (Segmentation fault); attempts: 1\n");
}

TEST_F(LocalProcesses, HaveTheFirstFailureAsTheCause) {
  // A process that fails because of an error of another one must not start all processes again.
  const ProcessResult result =
      run_script(kNumber + "[ $RANK = 0 ] || exit 2;" + end_of(1) + "kill -ABRT $$", two_processes(3, kLong));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "; attempts: 1\n");
}

TEST_F(LocalProcesses, AreNoCauseIfTheLauncherEndsThem) {
  const ProcessResult result = run_script("[ $RANK = 0 ] || exit 3;" + kSleep);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 ended with exit code 3; attempts: 1\n");
}

TEST_F(LocalProcesses, StartAgainAfterAKill) {
  const ProcessResult result = run_script(
      "echo $TORCHELASTIC_RESTART_COUNT >> attempts$RANK\n"
      "[ $TORCHELASTIC_RESTART_COUNT = 2 ] && exit 0\n[ $RANK = 0 ] && exit 3; kill -KILL $$",
      two_processes(5));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output,
            "attempt 1 because rank 1 was ended by signal 9 (Killed)\n"
            "attempt 2 because rank 1 was ended by signal 9 (Killed)\n"
            "; attempts: 3\n");
  for (const char* file : {"attempts0", "attempts1"}) EXPECT_EQ(read(file), "0\n1\n2\n");
}

TEST_F(LocalProcesses, EndAfterTheLastRestart) {
  for (const int code : {kLostProcessExitCode, 7}) {
    const std::string failure = "rank 1 ended with exit code " + std::to_string(code);
    const ProcessResult result =
        run_script("[ $RANK = 0 ] || exit " + std::to_string(code) + ";" + kSleep, two_processes(2));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.output, fmt::format("attempt 1 because {0}\nattempt 2 because {0}\n{0}; attempts: 3\n", failure));
  }
}

TEST_F(LocalProcesses, HaveTimeToEndBeforeTheyGetASignal) {
  const ProcessResult result = run_script(
      kNumber + "[ $RANK = 0 ] || exit 3; trap 'touch signal' TERM;" + end_of(1) + "sleep 0.1; touch ended; exit 3",
      two_processes(0, kLong));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(exists("ended"));
  EXPECT_FALSE(exists("signal"));
}

TEST_F(LocalProcesses, AreKilledIfTheyIgnoreTheSignalToEnd) {
  const ProcessResult result =
      run_script("trap '' TERM; [ $RANK = 0 ] && " + kSleep + "while [ ! -s process0 ]; do sleep 0.05; done; exit 2");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(is_running(process_in("process0")));
}

TEST_F(LocalProcesses, AreKilledIfTheyAreStopped) {
  RunningProcess launcher =
      launch(shell_command("[ $RANK = 0 ] && " + kSleep + "while [ ! -e stopped ]; do sleep 0.05; done; exit 2"),
             two_processes());
  const pid_t stopped = process_in("process0");
  kill(stopped, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return state_of(stopped) == 'T'; }));
  write("stopped", "");
  EXPECT_EQ(wait_or_kill(std::move(launcher)).exit_code, 2);
  EXPECT_FALSE(is_running(stopped));
}

TEST_F(LocalProcesses, AreKilledAtOnceWithoutGrace) {
  const ProcessResult result = run_script("[ $RANK = 0 ] || exit 2; trap '' TERM;" + kSleep, two_processes(0, {}));
  EXPECT_EQ(result.exit_code, 2);
}

TEST_F(LocalProcesses, EndWhenTheLauncherIsKilled) {
  RunningProcess launcher = launch(shell_command(kSleep), {.processes = 3});
  const pid_t processes[] = {process_in("process0"), process_in("process1"), process_in("process2")};
  launcher.send(SIGKILL);
  wait_or_kill(std::move(launcher));
  for (const pid_t process : processes) EXPECT_TRUE(wait_until([&] { return !is_running(process); }));
}

TEST_F(LocalProcesses, EndWhenTheLauncherIsKilledAtAnyMoment) {
  for (int i = 0; i < 40; ++i) {
    const std::string time = "600." + std::to_string(getpid()) + std::to_string(1000 + i);  // no other process has it
    RunningProcess launcher = launch({"/bin/sleep", time}, {.processes = 4});
    std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
    launcher.send(SIGKILL);
    wait_or_kill(std::move(launcher));
    EXPECT_TRUE(wait_until([&] { return processes_with(time) == 0; }));
  }
}

TEST_F(LocalProcesses, MayEndAtOnceInAnyOrder) {
  for (int i = 0; i < 50; ++i) {
    const ProcessResult result = run_script("exit 0", {.processes = 12});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.output, "; attempts: 1\n");
  }
}

TEST_F(LocalProcesses, LeaveNoChildNoFileAndNoSignalBehind) {
  const auto files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const ProcessResult result = wait_or_kill(start([&] {
    sigset_t mask_before, mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask_before);
    const auto files_before = files();
    launch_here(shell_command("[ $RANK = 0 ] || exit 7;" + kSleep), two_processes(3));
    EXPECT_EQ(files(), files_before);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    for (int signal = 1; signal < NSIG; ++signal) {
      EXPECT_EQ(sigismember(&mask, signal), sigismember(&mask_before, signal));
    }
    return HasFailure() ? 1 : 0;
  }));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(LocalProcesses, HaveNoFileOfTheLauncher) {
  const std::string list = "for file in /proc/$$/fd/*; do echo ${file##*/}; done > ";
  const ProcessResult result = wait_or_kill(start([&] {
    const int direct = std::system((list + "direct").c_str());
    return direct + launch_here(shell_command(list + "files$RANK"), two_processes());
  }));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(read("direct"), StartsWith("0\n1\n"));
  for (const char* file : {"files0", "files1"}) EXPECT_EQ(read(file), read("direct"));
}

TEST_F(LocalProcesses, NeedAProgramThatExists) {
  const ProcessResult result = wait_or_kill(launch({"/does/not/exist"}, {.processes = 1, .max_restarts = 3}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "; attempts: 1\n");
  EXPECT_EQ(result.errors,
            "run_local_processes: /does/not/exist cannot be started (No such file or directory), needs to be a "
            "program\n");
}

TEST_F(LocalProcesses, AreAtLeastOne) {
  const ProcessResult result = run_script("exit 0", {.processes = 0});
  EXPECT_EQ(result.exit_code, 100);
  EXPECT_EQ(result.output, "run_local_processes: processes is 0, needs at least 1\n");
}

TEST_F(LocalProcesses, EndIfTheSystemRefusesOneOfThem) {
  constexpr int kSkipped = 101;
  const ProcessResult result = wait_or_kill(start([] {
    // The limit does not hold for the superuser.
    if (geteuid() == 0 && setuid(65534) != 0) return kSkipped;
    const rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    setrlimit(RLIMIT_NPROC, &limit);
    const int code = launch_here(shell_command("exec sleep 600"), {.processes = 8});
    return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? code : 102;
  }));
  if (result.exit_code == kSkipped) GTEST_SKIP() << "this system allows no other user";
  EXPECT_EQ(result.exit_code, 100);
  EXPECT_THAT(result.output, StartsWith("run_local_processes: the system refused process "));
}

}  // namespace
}  // namespace edgewise
