// SPDX-License-Identifier: Apache-2.0
// Runs that are trained in parts have the bits of runs that are trained in one part, for random options and ends of the
// parts, and for any number of processes of each part. RC_PARAMS="max_success=10000" tries more of them than the
// default.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/distributed/process_threads.h"
#include "tests/train/two_runs.h"

namespace edgewise {
namespace {

/// How a part of a run ends.
enum class End { kSteps, kEpochs, kPatience, kRequest, kKill };

struct Part {
  End end = End::kSteps;
  std::int64_t at = 1;  // the number of steps, epochs or validations
  std::int64_t processes = 1;
  std::int64_t rank = 0;  // of the process that is killed or gets the request
};

/// Whether the learning rate depends on the number of steps of the whole run.
bool is_planned(ScheduleKind schedule) {
  return schedule == ScheduleKind::kLinear || schedule == ScheduleKind::kCosine;
}

TrainOptions arbitrary_options() {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = *rc::gen::inRange<std::int64_t>(3, 20);
  options.accumulate = *rc::gen::inRange<std::int64_t>(1, 4);
  options.schedule = *rc::gen::element(ScheduleKind::kConstant, ScheduleKind::kNoam, ScheduleKind::kInverseSqrt,
                                       ScheduleKind::kLinear, ScheduleKind::kCosine, ScheduleKind::kPlateau);
  options.warmup = *rc::gen::inRange<std::int64_t>(1, 3);
  options.plateau_patience = *rc::gen::inRange<std::int64_t>(1, 3);
  options.clip_norm = *rc::gen::element(0.0, 0.2);
  options.weight_decay = *rc::gen::element(0.0, 0.1);
  options.log_every = *rc::gen::inRange<std::int64_t>(0, 6);
  options.validate_every = *rc::gen::inRange<std::int64_t>(0, 6);
  options.save_every = *rc::gen::inRange<std::int64_t>(0, 6);
  options.best_by = *rc::gen::element(BestMetric::kAuto, BestMetric::kAccuracy, BestMetric::kLoss);
  options.patience = *rc::gen::element<std::int64_t>(0, 0, 2, 4);
  options.keep_best = *rc::gen::inRange<std::int64_t>(0, 3);
  options.average = *rc::gen::element(0.0, 0.5, 0.9);
  options.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  options.virtual_ranks = *rc::gen::element<std::int64_t>(1, 2, 4);
  options.exchange = *rc::gen::element(GradientExchange::kFp32, GradientExchange::kBf16);
  return options;
}

int log2_of(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

std::vector<Part> arbitrary_parts(const TrainOptions& options) {
  std::vector<Part> parts(*rc::gen::inRange<std::size_t>(1, 4));
  for (Part& part : parts) {
    part.end = *rc::gen::element(End::kSteps, End::kEpochs, End::kPatience, End::kRequest, End::kKill);
    if (part.end == End::kSteps && is_planned(options.schedule)) part.end = End::kRequest;
    part.at = *rc::gen::inRange<std::int64_t>(1, part.end == End::kEpochs ? 4 : options.steps + 1);
    part.processes = std::int64_t{1} << *rc::gen::inRange(0, log2_of(options.virtual_ranks) + 1);
    part.rank = *rc::gen::inRange<std::int64_t>(0, part.processes);
  }
  return parts;
}

/// Replaces the loss of validations by an erratic function of the weights, so that each may be the best.
void validate_erratically(TestRun& run) {
  run.task.on_validate = [&run] {
    const std::function<Validation()> erratic = std::exchange(run.task.on_validate, nullptr);
    Validation validation = run.task.validate(run.requests.stop);
    run.task.on_validate = erratic;
    validation.loss = std::abs(std::sin(1e5 * validation.loss));
    validation.accuracy = std::round(4.0 * std::abs(std::sin(1e6 * validation.loss)));
    return validation;
  };
}

/// Trains as one of the processes of a part, until the end of the part.
void train_process(ProcessGroup& processes, const std::filesystem::path& folder, const TrainOptions& options,
                   const Part& part, bool is_resumed) {
  const NumThreadsScope one_thread(1);
  TestRun run(processes, folder, options, {.noise = 0.5});
  validate_erratically(run);
  run.after_step = [&](const StepReport& report) {
    if (report.step < part.at || processes.rank() != part.rank) return;
    run.requests.stop = part.end == End::kRequest;
    if (part.end == End::kKill) throw std::runtime_error("killed");
  };
  if (is_resumed) run.trainer.resume();
  run.start();
}

/// Trains until the end of a part. A kill loses what is in memory only.
void train(const std::filesystem::path& folder, TrainOptions options, const Part& part, bool is_resumed) {
  if (part.end == End::kSteps) options.steps = std::min(part.at, options.steps);
  if (part.end == End::kEpochs) options.epochs = part.at;
  const bool is_less_patient = options.patience == 0 || part.at < options.patience;
  if (part.end == End::kPatience && is_less_patient) options.patience = part.at;
  try {
    run_as_processes(part.processes,
                     [&](ProcessGroup& processes) { train_process(processes, folder, options, part, is_resumed); });
  } catch (const std::runtime_error& error) {
    RC_ASSERT(std::string(error.what()) == "killed");
  }
}

class PartsTest : public TwoRuns {};

TEST_F(PartsTest, OfARunGiveTheBitsOfTheWholeRun) {
  EXPECT_TRUE(rc::check([this] {
    std::filesystem::remove_all(folder());
    const TrainOptions options = arbitrary_options();
    TrainOptions longer = options;  // a part may be killed after the last step of the whole run
    if (!is_planned(options.schedule)) longer.steps += *rc::gen::inRange<std::int64_t>(0, 10);
    bool is_resumed = false;
    for (const Part& part : arbitrary_parts(longer)) {
      train(second_folder(), longer, part, std::exchange(is_resumed, true));
    }
    const std::int64_t steps = std::max(options.steps, read_last_state(second_folder(), "next_token").step);
    train(second_folder(), longer, {.end = End::kSteps, .at = steps}, /*is_resumed=*/true);
    train(first_folder(), longer, {.end = End::kSteps, .at = steps}, /*is_resumed=*/false);

    RC_ASSERT(find_difference(second_folder(), first_folder()) == "");
    RC_ASSERT(names_in(second_folder()) == names_in(first_folder()));
  }));
}

}  // namespace
}  // namespace edgewise
