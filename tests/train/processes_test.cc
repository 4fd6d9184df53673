// SPDX-License-Identifier: Apache-2.0
// Trainings of several processes, which threads play here. tests/apps/processes_test.cc trains in real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/experiment/train.h"
#include "tests/distributed/process_threads.h"
#include "tests/support/error_of.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<std::string> kCopyTask = {
    "data.task=copy",          "data.train_size=80",     "data.valid_size=6",
    "data.test_size=0",        "data.symbols=5",         "data.length_mean=6",
    "data.length_deviation=2", "vocabulary.shared=true", "batch.tokens=0",
    "batch.sentences=4",       "model.encoder_layers=2", "model.decoder_layers=1",
    "model.size=12",           "model.heads=2",          "model.feed_forward=10",
    "train.schedule=constant", "train.warmup=0",         "train.learning_rate=0.01",
    "train.epochs=0",          "train.steps=7",          "train.log_every=2",
    "train.validate_every=3",  "train.save_every=4",     "train.clip_norm=0.1",
    "train.virtual_ranks=4",   "search.beam=2"};

struct Settings {
  std::string name;
  std::vector<std::string> settings;
};

void PrintTo(const Settings& settings, std::ostream* out) { *out << settings.name; }

class ProcessesTest : public RunFolder, public testing::WithParamInterface<Settings> {
 protected:
  Experiment experiment(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = kCopyTask;
    all.insert(all.end(), GetParam().settings.begin(), GetParam().settings.end());
    all.insert(all.end(), more.begin(), more.end());
    return parse_experiment("", "test", all);
  }

  /// Trains in `size` processes; resumes a run that exists.
  static void train(const Experiment& experiment, const std::filesystem::path& run, std::int64_t size) {
    const bool is_resumed = exists(run / "last");
    run_as_processes(size, [&](ProcessGroup& processes) {
      const NumThreadsScope one_thread(1);
      RunObserver observer;
      RunRequests requests;
      edgewise::train(experiment, run, {.is_resumed = is_resumed}, observer, requests, processes);
    });
  }
};

TEST_P(ProcessesTest, TrainTheSameBitsInAnyNumber) {
  train(experiment(), folder() / "1", 1);
  for (const std::int64_t size : {2, 4}) {
    const std::filesystem::path run = folder() / std::to_string(size);
    train(experiment(), run, size);
    expect_same_run(run, folder() / "1");
    EXPECT_EQ(names_in(run), names_in(folder() / "1"));
  }
}

TEST_P(ProcessesTest, ResumeARunOfAnotherNumber) {
  train(experiment(), folder() / "whole", 1);
  const std::filesystem::path run = folder() / "parts";
  train(experiment({"train.steps=2"}), run, 4);
  train(experiment({"train.steps=4"}), run, 2);
  train(experiment({"train.steps=5"}), run, 1);
  train(experiment(), run, 4);
  expect_same_run(run, folder() / "whole");
}

INSTANTIATE_TEST_SUITE_P(
    , ProcessesTest,
    testing::Values(Settings{"plain", {}},
                    Settings{"accumulation", {"train.accumulate=3", "model.dropout.residual=0.1"}},
                    Settings{"rdrop", {"train.rdrop=1", "model.dropout.residual=0.1"}},
                    Settings{"simcut", {"train.simcut=2", "train.cut=0.3"}}, Settings{"int8", {"train.quantise=int8"}},
                    Settings{"averaging", {"train.average=0.5", "train.keep_best=2"}},
                    Settings{"patience", {"train.patience=1", "train.learning_rate=0.5", "train.steps=20"}},
                    Settings{"universal", {"model.kind=universal"}},
                    Settings{"exits", {"model.decoder_layers=3", "model.exits.layers=[1,2]"}},
                    Settings{"halting", {"model.decoder_layers=2", "model.exits.layers=[1]", "train.part=halting"}},
                    Settings{"bf16", {"train.precision=bf16", "train.exchange=bf16"}},
                    Settings{"epochs", {"train.epochs=2", "train.steps=0", "train.validate_every=0"}}),
    [](const auto& settings) { return settings.param.name; });

class TwoProcesses : public RunFolder {
 protected:
  static TrainOptions two_ranks() {
    TrainOptions options = short_run();
    options.virtual_ranks = 2;
    return options;
  }

  /// Trains in two processes, which `prepare` changes.
  void train(const std::function<void(ProcessGroup&, TestRun&)>& prepare, TrainOptions options = two_ranks()) const {
    run_as_processes(2, [&](ProcessGroup& processes) {
      const NumThreadsScope one_thread(1);
      TestRun run(processes, folder(), options);
      prepare(processes, run);
      run.start();
    });
  }
};

TEST_F(TwoProcesses, ReportARunDirectoryThatHoldsARunTogether) {
  std::filesystem::create_directories(folder() / "last");
  EXPECT_THAT([&] { train([](ProcessGroup&, TestRun&) {}); },
              ThrowsMessage<CollectiveError>(HasSubstr("holds a run (last), needs a directory without one")));
}

TEST_F(TwoProcesses, EndAfterAnErrorOfOne) {
  EXPECT_THAT(error_of([&] {
                train([](ProcessGroup& processes, TestRun& run) {
                  run.task.loss_factor = [&processes](std::int64_t number) {
                    if (processes.rank() == 1 && number == 5) throw Error("memory ran out");
                    return 1.0;
                  };
                });
              }),
              "memory ran out");
  EXPECT_EQ(read_last_state(folder(), "next_token").step, 4) << "the end of the first epoch";
}

TEST_F(TwoProcesses, FindLossesThatAreNotFiniteTogether) {
  TrainOptions options = two_ranks();
  options.most_skipped = 2;
  EXPECT_THAT(
      [&] {
        train(
            [](ProcessGroup& processes, TestRun& run) {
              run.task.loss_factor = [&processes](std::int64_t number) {
                return processes.rank() == 1 && number > 3 ? std::nan("") : 1.0;
              };
            },
            options);
      },
      ThrowsMessage<CollectiveError>(HasSubstr("losses or gradients of the last 2 steps are not finite numbers")));
}

TEST_F(TwoProcesses, StopWhenOneIsAskedToStop) {
  train([](ProcessGroup& processes, TestRun& run) {
    run.after_step = [&](const StepReport& report) { run.requests.stop = processes.rank() == 1 && report.step == 3; };
  });
  EXPECT_EQ(read_last_state(folder(), "next_token").step, 3);
}

TEST_F(TwoProcesses, SaveWhenOneIsAskedToSave) {
  std::vector<std::pair<std::int64_t, std::string>> saves;
  train([&](ProcessGroup& processes, TestRun& run) {
    run.after_step = [&](const StepReport& report) { run.requests.save = processes.rank() == 1 && report.step == 2; };
    if (processes.rank() == 0) run.on_end = [&saves, &run] { saves = run.saves; };
  });
  EXPECT_THAT(saves, testing::Contains(std::pair(std::int64_t{3}, std::string("last"))));
}

TEST_F(TwoProcesses, MeasureTheTimeThatOneWaitsForTheOther) {
  std::vector<double> shares(2);
  std::atomic<std::int64_t> losses_of_first = 0;
  train([&](ProcessGroup& processes, TestRun& run) {
    const auto rank = static_cast<std::size_t>(processes.rank());
    // Rank 1 goes on a tenth of a second after rank 0, whatever else the machine does.
    run.task.loss_factor = [&losses_of_first, rank](std::int64_t number) {
      if (rank == 0) {
        losses_of_first = number;
      } else {
        while (losses_of_first < number) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      return 1.0;
    };
    run.on_end = [&shares, &run, rank] { shares[rank] = run.steps.back().exchange_share.value(); };
  });
  EXPECT_GT(shares[0], shares[1]);
  EXPECT_LT(shares[0], 1.0);
  EXPECT_GT(shares[1], 0.0);
}

TEST_F(TwoProcesses, NameTheVirtualRanksThatTheyNeed) {
  TrainOptions options = short_run();
  EXPECT_THAT(error_of([&] { train([](ProcessGroup&, TestRun&) {}, options); }),
              "train: virtual_ranks is 1 for 2 processes, needs at least one each; set train.virtual_ranks=2");
  options.virtual_ranks = 3;
  EXPECT_THAT(error_of([&] { train([](ProcessGroup&, TestRun&) {}, options); }),
              "train: virtual_ranks is 3, needs a power of two");
}

TEST_F(TwoProcesses, RefuseToGoOnWithOtherVirtualRanks) {
  train([](ProcessGroup&, TestRun&) {});
  TrainOptions options = two_ranks();
  options.virtual_ranks = 4;
  EXPECT_THAT(
      error_of([&] { train([](ProcessGroup&, TestRun& run) { run.trainer.resume(); }, options); }),
      HasSubstr("virtual_ranks is 4, but " + folder().string() + " began with 2; set train.virtual_ranks=2 to go on"));
}

}  // namespace
}  // namespace edgewise
