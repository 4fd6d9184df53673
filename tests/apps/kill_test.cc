// SPDX-License-Identifier: Apache-2.0
// Runs that are killed at random moments and resumed end with the bits of a run that was never killed.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <thread>

#include "tests/apps/program.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

class KillTest : public ProgramTest {
 protected:
  using Clock = std::chrono::steady_clock;

  /// Returns a command that saves every three steps, also within an epoch and between accumulated batches.
  static std::vector<std::string> train(const std::string& run, const std::string& precision) {
    return {"train",     "tiny.toml",
            "--out",     run,
            "--threads", "1",
            "--set",     "train.precision=" + precision,
            "--set",     "train.epochs=0",
            "--set",     "train.steps=120",
            "--set",     "train.accumulate=2",
            "--set",     "train.log_every=7",
            "--set",     "train.validate_every=20",
            "--set",     "train.save_every=3",
            "--set",     "train.average=0.9",
            "--set",     "train.keep_best=2",
            "--set",     "train.best_by=loss",
            "--set",     "batch.sentences=16",
            "--set",     "data.test_size=0"};
  }

  bool has_checkpoint() const { return exists(path("killed/last")) || exists(path("killed/previous")); }

  /// Starts or resumes a run and kills it at a random moment. Returns true when the run ended before.
  bool trains_to_the_end(std::vector<std::string> command, Clock::duration longest) {
    if (has_checkpoint()) command.push_back("--resume");
    command.insert(command.begin(), EDGEWISE_PROGRAM);
    const double share = std::uniform_real_distribution<double>(0.3, 1.0)(random_);
    const auto moment = Clock::now() + std::chrono::duration_cast<Clock::duration>(share * longest);
    RunningProcess process(command, {.folder = path("").string()});
    while (Clock::now() < moment && !process.has_ended()) std::this_thread::sleep_for(std::chrono::microseconds(300));
    process.send(SIGKILL);
    const ProcessResult result = process.wait();
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 128 + SIGKILL) << result.errors;
    return result.exit_code == 0;
  }

  /// Kills runs `kills` times and compares each run that reaches its end with a run that was never killed. The latest
  /// moment of a kill grows with each kill, and shrinks when a run ends before its kill.
  void kill_runs(const std::string& precision, int kills) {
    Clock::duration longest = -Clock::now().time_since_epoch();
    run_well(train("whole", precision));
    longest += Clock::now().time_since_epoch();
    while (kills > 0) {
      if (trains_to_the_end(train("killed", precision), longest)) {
        longest = longest * 7 / 10;
        expect_same_run(path("killed"), path("whole"));
        std::filesystem::remove_all(path("killed"));
      } else {
        longest = longest * 21 / 20;
        --kills;
      }
    }
    std::vector<std::string> resume = train("killed", precision);
    if (has_checkpoint()) resume.push_back("--resume");
    run_well(resume);
    expect_same_run(path("killed"), path("whole"));
    EXPECT_EQ(names_without_events("killed"), names_without_events("whole"));
  }

  /// Returns the file names in a run without the event files, of which each process writes its own.
  std::set<std::string> names_without_events(const std::string& run) const {
    std::set<std::string> names = names_in(path(run));
    std::erase_if(names, [](const std::string& name) { return name.starts_with("events."); });
    return names;
  }

  std::mt19937_64 random_{make_seed()};

 private:
  static std::uint64_t make_seed() {
    const std::uint64_t seed = std::random_device()();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }
};

TEST_F(KillTest, KeepsEveryBitOfAKilledRunInFp32) {
  write("tiny.toml", kTinyConfig);
  kill_runs("fp32", 16);
}

TEST_F(KillTest, KeepsEveryBitOfAKilledRunInBf16) {
  write("tiny.toml", kTinyConfig);
  kill_runs("bf16", 16);
}

}  // namespace
}  // namespace edgewise
