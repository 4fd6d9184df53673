// SPDX-License-Identifier: Apache-2.0
// Signals to the launcher of local processes, and what the processes inherit.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "edgewise/distributed/launch/launch_signals.h"
#include "tests/apps/local_launcher.h"

namespace edgewise {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

using LocalProcesses = LauncherTest;

TEST_F(LocalProcesses, ReceiveTheSignalsOfTheLauncher) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    RunningProcess launcher = launch(shell_command(kTraining), two_processes(2, std::chrono::milliseconds(1)));
    for (const char* file : {"process0", "process1"}) process_in(file);
    launcher.send(SIGUSR1);
    for (const char* file : {"kept0", "kept1"}) wait_for(path(file));
    launcher.send(signal);
    const ProcessResult result = wait_or_kill(std::move(launcher));
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(result.output, "; attempts: 1\n");
    for (const char* file : {"saved0", "saved1", "kept0", "kept1", "process0", "process1"}) {
      EXPECT_TRUE(std::filesystem::remove(path(file))) << file << " after signal " << signal;
    }
  }
}

TEST_F(LocalProcesses, HaveAsLongAsTheyNeedToSave) {
  // Process 1 ends at once, and fails. The launcher must not disturb process 0, which another signal would end.
  RunningProcess launcher = launch(shell_command("trap 'trap \"exit 99\" TERM; sleep 0.3; touch saved; exit 143' TERM\n"
                                                 "[ $RANK = 0 ] || trap 'exit 3' TERM\n"
                                                 "echo $$ > process$RANK\nwhile :; do sleep 0.05; done"),
                                   two_processes(2, std::chrono::milliseconds(1)));
  for (const char* file : {"process0", "process1"}) process_in(file);
  launcher.send(SIGTERM);
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(result.output, "; attempts: 1\n");
  EXPECT_TRUE(exists("saved"));
}

TEST_F(LocalProcesses, ReceiveASecondSignalToStop) {
  RunningProcess launcher = launch(shell_command("trap 'trap \"exit 143\" TERM; touch first$RANK' TERM\n"
                                                 "echo $$ > process$RANK\nwhile :; do sleep 0.05; done"),
                                   two_processes());
  for (const char* file : {"process0", "process1"}) process_in(file);
  launcher.send(SIGTERM);
  for (const char* file : {"first0", "first1"}) wait_for(path(file));
  launcher.send(SIGTERM);
  EXPECT_EQ(wait_or_kill(std::move(launcher)).exit_code, 143);
}

TEST_F(LocalProcesses, MayEndByASignalToStopBeforeTheyHandleIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    RunningProcess launcher = launch(shell_command(kSleep), two_processes(2, kLong));
    for (const char* file : {"process0", "process1"}) process_in(file);
    launcher.send(signal);
    const ProcessResult result = wait_or_kill(std::move(launcher));
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(result.output, "; attempts: 1\n");
    for (const char* file : {"process0", "process1"}) std::filesystem::remove(path(file));
  }
}

TEST_F(LocalProcesses, FailIfTheyAreKilledWhileTheySave) {
  RunningProcess launcher = launch(shell_command("trap 'kill -KILL $$' TERM\necho $$ > process$RANK\n"
                                                 "while :; do sleep 0.05; done"),
                                   two_processes(2));
  for (const char* file : {"process0", "process1"}) process_in(file);
  launcher.send(SIGTERM);
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AnyOf("rank 0 was ended by signal 9 (Killed); attempts: 1\n",
                                   "rank 1 was ended by signal 9 (Killed); attempts: 1\n"));
}

TEST_F(LocalProcesses, SayTheCauseIfOneFailedBeforeTheSignalToStop) {
  RunningProcess launcher = launch(shell_command("[ $RANK = 0 ] || { echo $$ > process$RANK; exit 7; }\n" + kTraining),
                                   two_processes(2, kLong));
  process_in("process0");
  const pid_t failed = process_in("process1");
  ASSERT_TRUE(wait_until([&] { return state_of(failed) == 'X'; }));  // the launcher has collected its status
  launcher.send(SIGTERM);
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 ended with exit code 7; attempts: 1\n");
}

TEST_F(LocalProcesses, MayReceiveTheSignalToStopBeforeTheLauncher) {
  // Process 0 needs more time to save than the grace after a failure, and another signal would end it.
  RunningProcess launcher = launch(shell_command("[ $RANK = 0 ] || " + kSleep +
                                                 "trap 'trap \"exit 99\" TERM; sleep 10.5; exit 143' TERM\n"
                                                 "echo $$ > process$RANK\nwhile :; do sleep 0.05; done"),
                                   two_processes(2, std::chrono::seconds(10)));
  process_in("process0");
  const pid_t first = process_in("process1");
  kill(first, SIGTERM);
  ASSERT_TRUE(wait_until([&] { return state_of(first) == 'X'; }));
  launcher.send(SIGTERM);
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(result.output, "; attempts: 1\n");
}

TEST_F(LocalProcesses, DoNotStartAgainAfterOneWasStopped) {
  const ProcessResult result = run_script("[ $RANK = 0 ] && exit 3; exit 143", two_processes(2));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 ended with exit code 143; attempts: 1\n");
}

TEST_F(LocalProcesses, AllMayBeStoppedByASignalToOne) {
  const ProcessResult result = run_script("exit 130", two_processes(2));
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.output, "; attempts: 1\n");
}

TEST_F(LocalProcesses, DoNotStartAgainAfterASignalToStopBetweenAttempts) {
  LocalProcessesOptions options = two_processes(2);
  options.restart_pause = kLong;
  RunningProcess launcher = launch(shell_command("echo $$ > process$RANK; exit 7"), options);
  for (const char* file : {"process0", "process1"}) {
    const pid_t process = process_in(file);
    ASSERT_TRUE(wait_until([&] { return state_of(process) == 'X'; }));  // the launcher has collected its status
  }
  launcher.send(SIGUSR1);  // does not end the pause
  launcher.send(SIGTERM);
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.output,
              AnyOf("rank 0 ended with exit code 7; attempts: 1\n", "rank 1 ended with exit code 7; attempts: 1\n"));
}

TEST_F(LocalProcesses, DoNotReceiveASignalThatTheLauncherIgnores) {
  RunningProcess launcher = start([] {
    std::signal(SIGHUP, SIG_IGN);  // as nohup does
    return launch_here(shell_command("[ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0\n" + kTraining), two_processes(1));
  });
  const pid_t process = process_in("process1");
  process_in("process0");
  launcher.send(SIGHUP);
  kill(process, SIGHUP);
  launcher.send(SIGUSR1);
  wait_for(path("kept1"));
  kill(process, SIGKILL);  // a restart shows that the launcher does not count SIGHUP as a stop
  const ProcessResult result = wait_or_kill(std::move(launcher));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "attempt 1 because rank 1 was ended by signal 9 (Killed)\n; attempts: 2\n");
}

TEST_F(LocalProcesses, MayBeStartedByAProcessThatIgnoresTheEndOfOthers) {
  const ProcessResult result = wait_or_kill(start([] {
    std::signal(SIGCHLD, SIG_IGN);
    return launch_here(shell_command("[ $RANK = 0 ] || exit 2"), two_processes());
  }));
  EXPECT_EQ(result.exit_code, 2);
}

TEST_F(LocalProcesses, HaveTheSignalMaskOfTheCallerOfTheLauncher) {
  const std::string mask_of_shell = "grep -e SigBlk -e SigIgn /proc/self/status > ";
  const ProcessResult result = wait_or_kill(start([&] {
    std::signal(SIGTERM, [](int) {});
    std::signal(SIGHUP, SIG_IGN);
    const pid_t direct = ::fork();
    if (direct == 0) ::execl("/bin/sh", "sh", "-c", (mask_of_shell + "direct").c_str(), nullptr);
    if (::waitpid(direct, nullptr, 0) != direct) return 1;
    return launch_here(shell_command(mask_of_shell + "mask$RANK"), two_processes());
  }));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(read("direct"), HasSubstr("SigIgn:"));
  for (const char* file : {"mask0", "mask1"}) EXPECT_EQ(read(file), read("direct"));
}

TEST(EndWithParent, ReturnsFalseIfAnotherProcessIsTheParent) {
  const pid_t test = getpid();
  const auto run = [test] { return (end_with_parent(test) ? 1 : 0) + (end_with_parent(getpid()) ? 2 : 0); };
  EXPECT_EQ(wait_or_kill(RunningProcess(run, ProcessOptions{})).exit_code, 1);
}

}  // namespace
}  // namespace edgewise
