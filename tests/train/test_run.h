// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/train/trainer.h"
#include "tests/train/next_token_task.h"

namespace edgewise {

/// A training run of NextTokenTask that records the calls of its observer; start() and resume() act as a new process.
struct TestRun : TrainObserver {
  TestRun(std::filesystem::path run_folder, TrainOptions train_options, NextTokenTask::Options task_options = {},
          BatchOptions batch_options = {.tokens = 12, .sentences = 0, .bucket = 2},
          std::shared_ptr<const PairSource> pairs = std::make_shared<PairsInMemory>(NextTokenTask::pairs()),
          ProcessGroup& processes = single_process())
      : options(train_options),
        task(std::move(task_options)),
        batches(pairs, batch_options, train_options.seed, virtual_ranks_of(train_options, processes)),
        folder(std::move(run_folder)),
        trainer(options, task, batches, *this, processes) {
    if (processes.rank() == 0) trainer.open(folder);
  }

  /// One of the processes that train together.
  TestRun(ProcessGroup& processes, std::filesystem::path run_folder, TrainOptions train_options,
          NextTokenTask::Options task_options = {})
      : TestRun(std::move(run_folder), train_options, std::move(task_options),
                {.tokens = 12, .sentences = 0, .bucket = 2}, std::make_shared<PairsInMemory>(NextTokenTask::pairs()),
                processes) {}

  Outcome start() {
    const Outcome outcome = trainer.run(requests);
    if (on_end) on_end();
    return outcome;
  }
  Outcome resume() {
    trainer.resume();
    return trainer.run(requests);
  }

  void on_step(const StepReport& report) override {
    steps.push_back(report);
    if (after_step) after_step(report);
  }
  void on_log(const StepReport& report) override { logs.push_back(report); }
  void on_validation(std::int64_t step, const Validation&, bool is_best) override {
    validations.emplace_back(step, is_best);
  }
  void on_save(std::int64_t step, const std::filesystem::path& path) override {
    saves.emplace_back(step, path.filename().string());
  }
  void on_warning(std::int64_t step, const std::string& warning) override { warnings.emplace_back(step, warning); }

  TrainOptions options;
  NextTokenTask task;
  BatchShares batches;
  std::filesystem::path folder;
  RunRequests requests;
  std::function<void(const StepReport&)> after_step;
  std::function<void()> on_end;
  std::vector<StepReport> steps;
  std::vector<StepReport> logs;
  std::vector<std::pair<std::int64_t, bool>> validations;
  std::vector<std::pair<std::int64_t, std::string>> saves;
  std::vector<std::pair<std::int64_t, std::string>> warnings;
  Trainer trainer;
};

/// Options for two epochs at a constant learning rate.
inline TrainOptions short_run() {
  TrainOptions options;
  options.epochs = 2;
  options.schedule = ScheduleKind::kConstant;
  options.learning_rate = 0.1;
  options.warmup = 0;
  options.log_every = 3;
  return options;
}

}  // namespace edgewise
