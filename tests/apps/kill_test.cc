// SPDX-License-Identifier: Apache-2.0
// Runs with random configs that are killed at random moments, or trained in parts, end with the bits of runs of one
// process. EDGEWISE_KILLS is the number of kills, EDGEWISE_SEED draws other configs and moments, and
// EDGEWISE_KILLS_TABLE names a file that gets a line for each kill (scripts/soak kills).
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <thread>

#include "tests/apps/program.h"
#include "tests/apps/random_training.h"
#include "tests/support/environment_number.h"
#include "tests/train/event_reader.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

/// A kill of a process, or the end of a process before its kill.
struct Kill {
  std::string phase;
  double seconds = 0.0;  // after the start of the process
  bool has_ended = false;
};

class RandomRuns : public ProgramTest {
 protected:
  static constexpr std::int64_t kSteps = RandomTraining::kSteps;

  RandomRuns() {
    write("large.tsv", RandomTraining::sentence_pairs(200));
    write("small.tsv", RandomTraining::sentence_pairs(15));
  }

  std::vector<std::string> train(const std::string& run, const std::vector<std::string>& settings = {}) {
    std::vector<std::string> command = {"train", "random.toml", "--out",
                                        run,     "--threads",   std::to_string(random_.number(1, 5))};
    if (exists(path(run) / "last") || exists(path(run) / "previous")) command.emplace_back("--resume");
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    return command;
  }

  /// Draws the next config and trains the run `whole`. Returns the seconds that it took. What is drawn for a config
  /// does not depend on how many numbers the configs before it took.
  double train_whole() {
    std::filesystem::remove_all(path("whole"));
    random_ = RandomTraining(seed_ + num_configs_++);
    config_ = random_.config();
    write("random.toml", config_);
    const auto begin = std::chrono::steady_clock::now();
    run_well(train("whole"));
    return seconds_since(begin);
  }

  /// Starts or resumes the run `parts` and kills it after some seconds.
  Kill kill_after(double seconds, const std::vector<std::string>& settings) {
    std::vector<std::string> command = train("parts", settings);
    command.insert(command.begin(), EDGEWISE_PROGRAM);
    const auto begin_of_files = std::filesystem::file_time_type::clock::now();
    const auto begin = std::chrono::steady_clock::now();
    RunningProcess process(command, {.folder = path("").string()});
    while (seconds_since(begin) < seconds && !process.has_ended()) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    const double moment = seconds_since(begin);
    process.send(SIGKILL);
    const ProcessResult result = process.wait();
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 128 + SIGKILL) << result.errors << config_;
    return {.phase = phase_since(begin_of_files), .seconds = moment, .has_ended = result.exit_code == 0};
  }

  /// Resumes the run `parts` to its end, and returns its difference to the run `whole`.
  std::string difference_at_the_end() {
    run_well(train("parts"));
    std::string difference = find_difference(path("parts"), path("whole"));
    if (difference.empty() && names_without_events("parts") != names_without_events("whole")) {
      difference = fmt::format("files {}", fmt::join(names_without_events("parts"), " "));
    }
    if (difference.empty() && steps_and_tags(path("parts")) != steps_and_tags(path("whole"))) difference = "events";
    std::filesystem::remove_all(path("parts"));
    return difference;
  }

  void expect_no_difference(const std::string& difference) const {
    EXPECT_EQ(difference, "") << "EDGEWISE_SEED=" << seed_ << "\n" << config_;
  }

  /// Appends a line for each kill of a run to the table.
  void append_to_table(const std::vector<Kill>& kills, const std::string& difference) const {
    const char* table = std::getenv("EDGEWISE_KILLS_TABLE");
    if (table == nullptr) return;
    std::ofstream file(table, std::ios::app);
    for (const Kill& kill : kills) {
      file << fmt::format("{}\t{}\t{:.3f}\t{}\n", seed_, kill.phase, kill.seconds,
                          difference.empty() ? "same bits" : "other bits");
    }
  }

  /// Whether the learning rate depends on the number of steps of the whole run.
  bool is_planned() const {
    return config_.find("linear") != std::string::npos || config_.find("cosine") != std::string::npos;
  }

  /// Returns the step of the state of the run `parts`, 0 for none.
  std::int64_t saved_step() const {
    std::smatch step;
    const std::string state = read("parts/last/training.toml");
    return std::regex_search(state, step, std::regex("\nstep = ([0-9]+)")) ? std::stoll(step[1]) : 0;
  }

  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const std::uint64_t seed_ = test_seed();
  RandomTraining random_{seed_};
  std::string config_;

 private:
  /// Returns what a killed process that began at `begin` was doing.
  std::string phase_since(std::filesystem::file_time_type begin) const {
    if (!exists(path("parts"))) return "before the run directory";
    bool has_begun = false;
    for (const std::string& name : names_in(path("parts"))) {
      const std::size_t mark = name.find(".tmp-");
      if (mark != std::string::npos) {
        return "while writing " + (name.starts_with(".step") ? "step" : name.substr(1, mark - 1));
      }
      has_begun = has_begun || (name.starts_with("events.") && last_write_time(path("parts") / name) >= begin);
    }
    if (!exists(path("parts/last"))) return "before the first checkpoint";
    return has_begun ? "in or after the steps" : "before the first step";
  }

  /// Returns the file names in a run without the event files, of which each process writes its own.
  std::set<std::string> names_without_events(const std::string& run) const {
    std::set<std::string> names = names_in(path(run));
    std::erase_if(names, [](const std::string& name) { return name.starts_with("events."); });
    return names;
  }

  std::uint64_t num_configs_ = 0;
};

using KillTest = RandomRuns;
using TrainInParts = RandomRuns;

TEST_F(KillTest, AfterACheckpointChangesNoBitOfARunThatIsResumed) {
  train_whole();
  std::vector<std::string> command = train("parts", {"train.save_every=1"});
  command.insert(command.begin(), EDGEWISE_PROGRAM);
  RunningProcess process(command, {.folder = path("").string()});
  wait_for(path("parts/previous"));
  process.send(SIGKILL);
  process.wait();
  expect_no_difference(difference_at_the_end());
}

TEST_F(KillTest, AtAnyMomentChangesNoBitOfARunThatIsResumed) {
  constexpr std::uint64_t kMostKillsOfARun = 3;
  constexpr int kRunsOfAConfig = 3;
  std::uint64_t kills = 0;
  const std::uint64_t wanted = environment_number("EDGEWISE_KILLS", 16);
  while (kills < wanted && !HasFailure()) {
    const double whole = train_whole();
    for (int run = 0; run < kRunsOfAConfig && kills < wanted; ++run) {
      // A run that is killed after the last step of the run `whole` must not keep what came after this step.
      std::vector<std::string> settings;
      if (!is_planned() && random_.number(0, 1) == 0) settings = {fmt::format("train.steps={}", 2 * kSteps)};
      std::vector<Kill> kills_of_run;
      while (kills_of_run.size() < std::min(kMostKillsOfARun, wanted - kills)) {
        const Kill kill = kill_after(random_.share() * whole, settings);
        if (kill.has_ended) break;
        kills_of_run.push_back(kill);
      }
      kills += kills_of_run.size();
      if (saved_step() > kSteps) {
        std::filesystem::remove_all(path("parts"));
        continue;
      }
      const std::string difference = difference_at_the_end();
      expect_no_difference(difference);
      append_to_table(kills_of_run, difference);
    }
  }
}

TEST_F(TrainInParts, EndsWithTheBitsOfATrainingInOnePart) {
  for (int i = 0; i < 4; ++i) {
    train_whole();
    const std::string steps = fmt::format("train.steps={}", random_.number(1, kSteps - 1));
    const std::string end = random_.pick({"train.epochs=1", "train.patience=1", steps.c_str()});
    run_well(train("parts", {is_planned() && end == steps ? "train.epochs=1" : end}));
    expect_no_difference(difference_at_the_end());
  }
}

}  // namespace
}  // namespace edgewise
