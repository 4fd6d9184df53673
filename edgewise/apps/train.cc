// SPDX-License-Identifier: Apache-2.0
// edgewise train CONFIG.toml --out RUN [--from MODEL]
#include "edgewise/experiment/train.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/progress.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/train_signals.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/run_comparison.h"
#include "edgewise/experiment/run_config.h"

namespace edgewise {
namespace {

constexpr double kMaxProcess = 1 << 22;  // the most processes that Linux numbers

struct TrainCommand {
  std::string config;
  std::string run;
  std::string from;
  std::vector<std::string> settings;
  bool is_resumed = false;
  std::int64_t parent = 0;
  int threads = 0;
};

/// Returns how to change the command, so that it resumes the run.
std::string_view resuming(const TrainCommand& command) {
  return command.from.empty() ? "add --resume to the command" : "replace --from MODEL by --resume in the command";
}

/// Scores the test set of a finished run.
void score_test(const TrainCommand& command, const SentencePairs& test, TrainSignals& signals) {
  try {
    const Validation scores = evaluate(open_model(command.run), test, &signals.requests().stop);
    print_output("test: {}\n", format_validation(scores));
  } catch (const StopException&) {
    print_output("stopped before the test set was scored. To score it, {}.\n", resuming(command));
    throw SignalExit(signals.signal());
  }
}

void print_unused_options(const VocabularySection& options) {
  const std::string unused = describe_unused_options(options);
  if (!unused.empty()) print_output("note: {}\n", unused);
}

Experiment read_config(const TrainCommand& command) {
  if (command.is_resumed) return read_resumed_config(command.config, command.settings, command.run);
  if (!command.from.empty()) return read_fine_tuning_config(command.config, command.settings, command.from);
  return read_experiment(command.config, command.settings);
}

void run_train(const TrainCommand& command) {
  TrainSignals signals;
  if (command.parent != 0) TrainSignals::end_with_parent(command.parent);
  make_output_optional();
  use_threads(command.threads);
  const Experiment experiment = read_config(command);
  if (!command.is_resumed && command.from.empty()) print_unused_options(experiment.vocabulary);
  Progress progress(experiment, signals);
  const TrainResult result = train(experiment, command.run,
                                   {.data_folder = std::filesystem::path(command.config).parent_path(),
                                    .is_resumed = command.is_resumed,
                                    .from = command.from},
                                   progress, signals.requests());
  progress.finish_line();
  if (result.outcome == Outcome::kInterrupted) {
    print_output("stopped at step {}; all is saved. To go on, {}.\n", result.step, resuming(command));
    throw SignalExit(signals.signal());
  }
  print_output("{} after {} steps and {}\n",
               result.outcome == Outcome::kStoppedEarly ? "validation no longer improves: ended" : "ended", result.step,
               format_duration(result.seconds));
  if (result.test.size() > 0) score_test(command, result.test, signals);
}

}  // namespace

void add_train(CLI::App& program) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* train = program.add_subcommand("train", "Train the model that a config file describes");
  add_path(*train, "config", command->config, "the config, a TOML file")->required();
  add_path(*train, "--out", command->run, "the run directory to write: checkpoints and metrics")->required();
  add_path(*train, "--from", command->from,
           "start from this model: a run or model directory, whose vocabularies and parameters the new run has");
  add_settings_option(*train, command->settings);
  train->add_flag("--resume", command->is_resumed, "continue the run that --out holds");
  add_number(*train, "--end-with-parent", &command->parent,
             "save and end, as at SIGTERM, when the process with this number ends, which must have started this one",
             at_least(1).at_most(kMaxProcess));
  add_threads_option(*train, command->threads);
  train->callback([command] { run_train(*command); });
}

}  // namespace edgewise
