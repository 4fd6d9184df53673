// SPDX-License-Identifier: Apache-2.0
// Tests the files and exit codes of trainings that a signal ends.
#include "tests/apps/signals.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/train/training_state.h"
#include "tests/support/terminal.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

std::set<std::string> temporary_names_in(const std::filesystem::path& folder) {
  std::set<std::string> names = names_in(folder);
  std::erase_if(names, [](const std::string& name) { return name.find(".tmp-") == std::string::npos; });
  return names;
}

class TrainSignalsTest : public SignalsTest {
 protected:
  /// Returns a command that trains for `steps` steps and saves only when it ends.
  static Words train(const std::string& run, std::int64_t steps, const Words& settings = {}) {
    Words command = {"train", "tiny.toml", "--out", run, "--threads", "1"};
    Words all = {"train.epochs=0", "train.steps=" + std::to_string(steps), "train.save_every=1000000",
                 "train.validate_every=1000000", "train.log_every=10"};
    all.insert(all.end(), settings.begin(), settings.end());
    for (const std::string& setting : all) command.insert(command.end(), {"--set", setting});
    return command;
  }

  static constexpr std::int64_t kEndless = 1'000'000;

  void wait_for_metrics(const std::string& text = "\"loss\"") const {
    EXPECT_TRUE(wait_until([&] { return read("run/metrics.jsonl").find(text) != std::string::npos; }));
  }

  /// Stops a training while it saves after SIGTERM. Trains again if the save ends before the stop.
  RunningProcess stop_during_save(const Words& settings) const {
    constexpr int kMostAttempts = 100;
    for (int attempt = 1;; ++attempt) {
      RunningProcess process = start(train("run", kEndless, settings));
      wait_for_metrics();
      process.send(SIGTERM);
      EXPECT_TRUE(wait_until([&] { return process.has_ended() || !temporary_names_in(path("run")).empty(); }));
      process.send(SIGSTOP);
      EXPECT_TRUE(wait_until([&] { return process.has_ended() || is_stopped(process); }));
      if (!temporary_names_in(path("run")).empty() || attempt == kMostAttempts) return process;
      process.send(SIGCONT);
      process.wait();
      std::filesystem::remove_all(path("run"));
    }
  }

  std::int64_t saved_step() const {
    const std::string file = "run/last/training.toml";
    return parse_training_state(read(file), file, "transformer").step;
  }

  /// Expects that RUN has a state that was saved at the end, and that the resumed run equals an uninterrupted run.
  void expect_resumable(const Words& settings = {}) const {
    ASSERT_GT(saved_step(), 0);
    const std::int64_t steps = saved_step() + 20;
    Words resume = train("run", steps, settings);
    resume.push_back("--resume");
    run_well(resume);
    run_well(train("whole", steps, settings));
    expect_same_run(path("run"), path("whole"));
  }
};

TEST_F(TrainSignalsTest, CtrlCSavesAlthoughTheReaderOfTheOutputEndsFirst) {
  // The shells wait for their children at Ctrl-C. `tee` ends at once.
  RunningProcess shell = start_shell("trap : INT; { trap : INT; \"$0\" \"$@\"; echo $? >code; } | tee log",
                                     train("run", kEndless), {.has_own_group = true});
  wait_for_metrics();
  shell.send_to_group(SIGINT);
  shell.wait();

  EXPECT_EQ(read("code"), "130\n");
  expect_resumable();
}

TEST_F(TrainSignalsTest, ARunUnderNohupIgnoresSighupAndStopsAtSigterm) {
  Words command = train("run", kEndless);
  command.insert(command.begin(), {"/usr/bin/nohup", EDGEWISE_PROGRAM});
  RunningProcess process = start_any(command);
  wait_for_metrics();
  process.send(SIGHUP);
  const auto size = read("run/metrics.jsonl").size();
  wait_until([&] { return process.has_ended() || read("run/metrics.jsonl").size() > 2 * size; });
  EXPECT_FALSE(process.has_ended());
  process.send(SIGTERM);

  EXPECT_EQ(process.wait().exit_code, 128 + SIGTERM);
  expect_resumable();
}

TEST_F(TrainSignalsTest, ABackgroundJobOfAScriptIgnoresSigintAndStopsAtSigterm) {
  RunningProcess shell =
      start_shell("\"$0\" \"$@\" & echo $! >pid.new; mv pid.new pid; wait $!; exit $?", train("run", kEndless));
  wait_for_metrics();
  const pid_t job = std::stoi(read("pid"));
  kill(job, SIGINT);
  const auto size = read("run/metrics.jsonl").size();
  wait_until([&] { return shell.has_ended() || read("run/metrics.jsonl").size() > 2 * size; });
  EXPECT_FALSE(shell.has_ended());
  kill(job, SIGTERM);

  EXPECT_EQ(shell.wait().exit_code, 128 + SIGTERM);
  expect_resumable();
}

TEST_F(TrainSignalsTest, EndsWithItsParentIfRequested) {
  for (const bool is_requested : {true, false}) {
    SCOPED_TRACE(is_requested);
    const std::string option = is_requested ? " --end-with-parent $$" : "";
    RunningProcess shell =
        start_shell("\"$0\" \"$@\"" + option + " & echo $! >pid.new; mv pid.new pid; wait $!", train("run", kEndless));
    wait_for_metrics();
    const pid_t job = std::stoi(read("pid"));
    shell.send(SIGKILL);
    shell.wait();
    const auto size = read("run/metrics.jsonl").size();
    const auto has_ended = [file = "/proc/" + std::to_string(job) + "/cmdline"] {
      return std::ifstream(file).peek() == EOF;  // a process that nobody waits for remains without a command line
    };
    wait_until([&] { return has_ended() || read("run/metrics.jsonl").size() > 2 * size; });

    EXPECT_EQ(has_ended(), is_requested);
    if (!has_ended()) kill(job, SIGTERM);
    EXPECT_TRUE(wait_until(has_ended));
    expect_resumable();
    for (const char* name : {"run", "whole"}) std::filesystem::remove_all(path(name));
  }
}

TEST_F(TrainSignalsTest, RefusesToBeginAfterTheEndOfItsParent) {
  // The child of the shell becomes the program when the shell has ended.
  RunningProcess shell = start_shell(
      "{ while [ ! -e ended ]; do sleep 0.05; done; exec \"$0\" \"$@\" --end-with-parent $$ 2>errors; } & echo $$ >pid",
      train("run", 20));
  shell.wait();
  write("ended", "");
  EXPECT_TRUE(wait_until([&] { return read("errors").ends_with("\n"); }));

  std::string parent = read("pid");
  parent.pop_back();
  EXPECT_EQ(read("errors"), "train: --end-with-parent is " + parent +
                                ", needs the number of the process that started this one and has not ended\n");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(TrainSignalsTest, EndsOnlyWithTheProcessThatStartedIt) {
  Words command = train("run", kEndless);
  command.insert(command.end(), {"--end-with-parent", "1"});
  expect_refused(
      command,
      "train: --end-with-parent is 1, needs the number of the process that started this one and has not ended");
}

TEST_F(TrainSignalsTest, SavesWhenItsTerminalIsGone) {
  Words command = train("run", kEndless);
  command.insert(command.begin(), EDGEWISE_PROGRAM);
  const TerminalProcess process = start_on_terminal(80, path(""), command);
  wait_for_metrics();
  ::close(process.terminal);  // sends SIGHUP; printing fails from now on
  int status = 0;
  waitpid(process.child, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGHUP);
  expect_resumable();
}

// A closing terminal sends SIGHUP twice, and `timeout` sends each signal twice.
TEST_F(TrainSignalsTest, SavesWhenTheSignalIsRepeatedAtOnce) {
  RunningProcess process = start(train("run", kEndless));
  wait_for_metrics();
  process.send(SIGSTOP);  // both other signals arrive while the process is stopped, before it can save
  process.send(SIGTERM);
  process.send(SIGHUP);
  process.send(SIGCONT);

  const ProcessResult stopped = process.wait();

  EXPECT_TRUE(stopped.exit_code == 128 + SIGTERM || stopped.exit_code == 128 + SIGHUP) << stopped.exit_code;
  EXPECT_NE(stopped.output.find("all is saved"), std::string::npos);
  expect_resumable();
}

/// A pipe with a reader that reads nothing.
class UnreadPipe {
 public:
  explicit UnreadPipe(const std::filesystem::path& path) {
    mkfifo(path.c_str(), 0600);
    end_.emplace(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    fcntl(end_->number(), F_SETPIPE_SZ, 4 * 4096);  // soon full
  }

  bool is_full() const {
    pollfd writable = {.fd = end_->number(), .events = POLLOUT, .revents = 0};
    return poll(&writable, 1, 0) == 0;
  }

 private:
  std::optional<FileDescriptor> end_;
};

TEST_F(TrainSignalsTest, SavesAtOnceAlthoughNobodyReadsItsOutputOrItsWarnings) {
  const Words settings = {"train.log_every=1", "train.spike=0.001"};
  for (const char* redirection : {">pipe", "2>pipe"}) {
    SCOPED_TRACE(redirection);
    const UnreadPipe pipe(path("pipe"));
    RunningProcess process =
        start_shell(std::string("exec \"$0\" \"$@\" ") + redirection, train("run", kEndless, settings));
    wait_for_metrics();
    EXPECT_TRUE(wait_until([&] { return pipe.is_full() && is_asleep(process); }));
    process.send(SIGTERM);

    expect_end(process);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGTERM);
    expect_resumable(settings);
    for (const char* name : {"run", "whole", "pipe"}) std::filesystem::remove_all(path(name));
  }
}

TEST_F(TrainSignalsTest, GoesOnAfterSigusr1BeforeTheFirstStep) {
  write("text.toml", kTinyModelConfig);
  mkfifo(path("pipe").c_str(), 0600);
  std::optional<FileDescriptor> corpus(::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));
  std::string text;
  for (int i = 0; i < 40; ++i) text += "go\tva\n";
  write_all(*corpus, text);
  RunningProcess process = start({"train", "text.toml", "--out", "run", "--set", "data.train=[\"pipe\"]"});
  const auto unread_bytes = [&] {
    int count = 0;
    ioctl(corpus->number(), FIONREAD, &count);
    return count;
  };
  EXPECT_TRUE(wait_until([&] { return unread_bytes() == 0; }));
  process.send(SIGUSR1);
  corpus.reset();

  const ProcessResult result = process.wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_GT(saved_step(), 0);
}

/// Settings of an epoch whose batches together take more than half a minute.
const Words kLongEpoch = {"data.train_size=200000", "batch.sentences=2"};

TEST_F(TrainSignalsTest, StopsWithinAStepOfManyBatchesWhichTheResumedRunRepeats) {
  run_well(train("run", 2, kLongEpoch));
  Words settings = kLongEpoch;
  settings.push_back("train.accumulate=1000000");
  Words long_step = train("run", kEndless, settings);
  long_step.push_back("--resume");
  RunningProcess process = start(long_step);
  wait_for(path("run/events.out.tfevents.000000000002"));  // of the resumed run, before its first step
  wait_for_work(process, 0.2);
  process.send(SIGTERM);

  expect_end(process);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.errors;
  EXPECT_NE(stopped.output.find("stopped at step 2; all is saved"), std::string::npos) << stopped.output;
  EXPECT_EQ(saved_step(), 2);
  expect_resumable(kLongEpoch);
}

TEST_F(TrainSignalsTest, StopsAtOnceAtASecondSignalAfterASecond) {
  // The only batch of a step takes seconds.
  RunningProcess process = start(train("run", kEndless,
                                       {"data.train_size=16", "data.length_mean=9000", "data.length_deviation=1",
                                        "data.max_length=20000", "batch.sentences=16"}));
  wait_for(path("run/last"));
  wait_for_work(process, 0.1);
  send_and_stop(process, SIGTERM);
  pass_time_of_repetitions();
  process.send(SIGINT);
  process.send(SIGCONT);

  expect_end(process);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGINT);
  EXPECT_EQ(stopped.output.find("all is saved"), std::string::npos);
}

/// Settings of a model of 50 MB, whose checkpoints take some tenths of a second to write.
const Words kLargeModel = {"model.size=512", "model.feed_forward=4096"};

TEST_F(TrainSignalsTest, ASecondSignalDuringASaveLeavesNoTemporaryFile) {
  Words settings = kLargeModel;
  settings.emplace_back("train.log_every=1");
  RunningProcess process = stop_during_save(settings);
  pass_time_of_repetitions();
  EXPECT_FALSE(temporary_names_in(path("run")).empty());
  process.send(SIGINT);
  process.send(SIGCONT);

  EXPECT_EQ(process.wait().exit_code, 128 + SIGINT);
  EXPECT_EQ(temporary_names_in(path("run")), std::set<std::string>());
  run_well({"inspect", "run/last"});
}

TEST_F(TrainSignalsTest, ASignalEndsAveragingAtOnceAndLeavesNoFile) {
  run_well(train("run", 1, kLargeModel));
  const std::set<std::string> before = names_in(path(""));
  const ProcessResult result = signal_in_time({"average", "--out", "mean", "run"}, SIGTERM, "mean", [&] {
    const std::set<std::string> names = temporary_names_in(path(""));
    return !names.empty() && exists(path(*names.begin()) / "model.safetensors");
  });

  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_EQ(names_in(path("")), before);
}

/// Returns settings of a run that validates `size` long outputs after 5 steps.
Words slow_validation(int size) {
  return {fmt::format("data.valid_size={}", size),
          "search.beam=8",
          "search.min_length=60",
          "search.length_offset=60",
          "train.validate_every=5",
          "train.log_every=5"};
}

TEST_F(TrainSignalsTest, StopsDuringAValidationWhichTheResumedRunRepeats) {
  RunningProcess process = start(train("run", 10, slow_validation(100'000)));  // takes minutes
  wait_for_metrics();
  wait_for_work(process, 0.2);
  process.send(SIGTERM);

  expect_end(process);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.errors;
  EXPECT_EQ(stopped.output.find("validation"), std::string::npos) << stopped.output;
  EXPECT_EQ(saved_step(), 5);

  const Words settings = slow_validation(50);
  Words resume = train("run", 10, settings);
  resume.push_back("--resume");
  run_well(resume);
  run_well(train("whole", 10, settings));
  expect_same_run(path("run"), path("whole"));
}

TEST_F(TrainSignalsTest, StopsWhileTheTestSetIsScoredWhichTheResumedRunRepeats) {
  const auto slow_test = [](int size) -> Words {
    return {fmt::format("data.test_size={}", size), "search.beam=8", "search.min_length=60", "search.length_offset=60"};
  };
  RunningProcess process = start_shell("exec \"$0\" \"$@\" >log", train("run", 10, slow_test(100'000)));
  EXPECT_TRUE(wait_until([&] { return read("log").find("ended after 10 steps") != std::string::npos; }));
  process.send(SIGTERM);

  expect_end(process);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGTERM);
  EXPECT_NE(read("log").find("stopped before the test set was scored. To score it, add --resume to the command.\n"),
            std::string::npos)
      << read("log");
  const Words settings = slow_test(50);
  Words resume = train("run", 10, settings);
  resume.push_back("--resume");
  const std::string resumed = run_well(resume);
  const std::string whole = run_well(train("whole", 10, settings));
  const std::size_t test = whole.find("test: loss");
  ASSERT_NE(test, std::string::npos) << whole;
  EXPECT_NE(resumed.find(whole.substr(test)), std::string::npos) << resumed;
}

}  // namespace
}  // namespace edgewise
