// SPDX-License-Identifier: Apache-2.0
// Processes that run shell scripts. The launcher itself is a process too, so that it has one thread and gets signals.
#include "edgewise/apps/local_processes.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

class LocalProcesses : public ProgramTest {
 protected:
  /// Starts a launcher of two processes that run a script. The launcher prints its result.
  RunningProcess launch(const std::string& script, LocalProcessesOptions options = {.processes = 2}) const {
    write("script", script);
    const std::vector<std::string> command = {"/bin/sh", "-e", path("script").string()};
    options.on_restart = [](const std::string& failure, int restart) {
      std::printf("restart %d: %s\n", restart, failure.c_str());
      std::fflush(stdout);
    };
    std::fflush(stdout);  // a fork copies what is not written yet
    return RunningProcess(
        [command, options] {
          const LocalProcessesResult result = run_local_processes(command, options);
          std::printf("%s, %d restarts\n", result.failure.c_str(), result.restarts);
          std::fflush(stdout);
          return result.exit_code;
        },
        {.folder = path("").string()});
  }

  static LocalProcessesOptions impatient(int max_restarts = 0) {
    return {.processes = 2, .max_restarts = max_restarts, .grace = milliseconds(200)};
  }

  /// Returns the process whose number a script wrote to a file.
  pid_t process_in(const std::string& name) const {
    wait_for(path(name));
    EXPECT_TRUE(wait_until([&] { return !read(name).empty(); }));
    return std::stoi(read(name));
  }

  static bool is_running(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }
};

TEST_F(LocalProcesses, HaveTheEnvironmentOfTorchrun) {
  const ProcessResult result = launch(
                                   "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR > rank$RANK\n"
                                   "echo $MASTER_PORT > port$RANK\n"
                                   "cat >> rank$RANK\n",
                                   {.processes = 3})
                                   .wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, ", 0 restarts\n");
  for (const char* rank : {"0", "1", "2"}) {
    EXPECT_EQ(read(std::string("rank") + rank), std::string(rank) + " 3 " + rank + " 3 127.0.0.1\n");
    EXPECT_EQ(read(std::string("port") + rank), read("port0"));
  }
  EXPECT_GT(std::stoi(read("port0")), 1023);
}

TEST_F(LocalProcesses, EndWhenOneHasWrongInput) {
  const ProcessResult result = launch("[ $RANK = 0 ] || exit 2; exec sleep 600", impatient(3)).wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, ", 0 restarts\n");
}

TEST_F(LocalProcesses, TellWhichOneWasKilled) {
  const ProcessResult result = launch("[ $RANK = 0 ] || kill -KILL $$; exec sleep 600", impatient()).wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 was ended by signal 9 (Killed), 0 restarts\n");
}

TEST_F(LocalProcesses, TellTheCauseAndNotWhoLostIt) {
  const ProcessResult result =
      launch("[ $RANK = 1 ] || exit 3; sleep 0.3; kill -SEGV $$", {.processes = 3, .grace = std::chrono::minutes(1)})
          .wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 1 was ended by signal 11 (Segmentation fault), 0 restarts\n");
}

TEST_F(LocalProcesses, StartAgainAfterAKill) {
  const ProcessResult result = launch(
                                   "echo $TORCHELASTIC_RESTART_COUNT >> attempts$RANK\n"
                                   "[ $RANK = 0 ] || [ $TORCHELASTIC_RESTART_COUNT = 2 ] || kill -KILL $$\n"
                                   "[ $TORCHELASTIC_RESTART_COUNT = 2 ] || exit 3\n",
                                   impatient(5))
                                   .wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output,
            "restart 1: rank 1 was ended by signal 9 (Killed)\nrestart 2: rank 1 was ended by signal 9 (Killed)\n, 2 "
            "restarts\n");
  EXPECT_EQ(read("attempts0"), "0\n1\n2\n");
}

TEST_F(LocalProcesses, EndAfterTheLastRestart) {
  const ProcessResult result = launch("exit 7", impatient(1)).wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("restart 1: rank 0 ended with exit code 7\n"),
                                   HasSubstr("rank 0 ended with exit code 7, 1 restarts\n")));
}

TEST_F(LocalProcesses, AreKilledIfTheyIgnoreTheEnd) {
  const ProcessResult result =
      launch("[ $RANK = 1 ] && exit 2\ntrap '' TERM\necho $$ > process\nwhile :; do sleep 0.1; done", impatient())
          .wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(is_running(process_in("process")));
}

TEST_F(LocalProcesses, AreKilledIfTheyAreStopped) {
  const ProcessResult result =
      launch("[ $RANK = 1 ] && sleep 0.2 && exit 2\necho $$ > process\nkill -STOP $$", impatient()).wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(is_running(process_in("process")));
}

TEST_F(LocalProcesses, GetTheSignalsOfTheLauncher) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::filesystem::remove(path("ready0"));
    std::filesystem::remove(path("ready1"));
    RunningProcess launcher = launch(
        "trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 129' HUP; trap 'touch saved$RANK' USR1\n"
        "touch ready$RANK\nwhile :; do sleep 0.1 || :; done",
        {.processes = 2, .max_restarts = 2});
    for (const char* file : {"ready0", "ready1"}) wait_for(path(file));
    launcher.send(SIGUSR1);
    for (const char* file : {"saved0", "saved1"}) wait_for(path(file));
    launcher.send(signal);
    const ProcessResult result = launcher.wait();
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(result.output, ", 0 restarts\n");
    for (const char* file : {"saved0", "saved1"}) std::filesystem::remove(path(file));
  }
}

TEST_F(LocalProcesses, HaveTheTimeThatTheyNeedAfterASignal) {
  RunningProcess launcher = launch(
      "trap 'sleep 1; touch saved$RANK; exit 143' TERM\ntouch ready$RANK\n"
      "while :; do sleep 0.1 || :; done",
      {.processes = 2, .grace = milliseconds(10)});
  for (const char* file : {"ready0", "ready1"}) wait_for(path(file));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait().exit_code, 128 + SIGTERM);
  EXPECT_TRUE(exists(path("saved0")) && exists(path("saved1")));
}

TEST_F(LocalProcesses, EndWhenTheLauncherIsKilled) {
  RunningProcess launcher = launch("echo $$ > process$RANK\nexec sleep 600");
  const pid_t first = process_in("process0");
  const pid_t second = process_in("process1");
  launcher.send(SIGKILL);
  launcher.wait();
  EXPECT_TRUE(wait_until([&] { return !is_running(first) && !is_running(second); }));
}

TEST_F(LocalProcesses, MayEndAtOnceInAnyOrder) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(launch("exit 0", {.processes = 8}).wait().exit_code, 0);
}

TEST_F(LocalProcesses, NeedAProgramThatExists) {
  const ProcessResult result = RunningProcess(
                                   [] {
                                     const LocalProcessesResult ended =
                                         run_local_processes({"/does/not/exist"}, {.processes = 1});
                                     std::printf("%s\n", ended.failure.c_str());
                                     std::fflush(stdout);
                                     return ended.exit_code;
                                   },
                                   ProcessOptions{})
                                   .wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "rank 0 ended with exit code 127\n");
}

}  // namespace
}  // namespace edgewise
