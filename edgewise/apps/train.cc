// SPDX-License-Identifier: Apache-2.0
// edgewise train CONFIG.toml --out RUN
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/experiment/attention_log.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/interrupt.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/apps/progress.h"
#include "edgewise/apps/runtime/threads_option.h"
#include "edgewise/experiment/training_data.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/corpus.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/train/tensorboard.h"
#include "edgewise/train/trainer.h"

namespace edgewise {
namespace {

struct TrainCommand {
  std::string config;
  std::string run;
  std::vector<std::string> settings;
  bool is_resumed = false;
  int threads = 0;
};

void report_test(const Experiment& experiment, const std::filesystem::path& run, SentencePairs test) {
  if (test.size() == 0) return;
  const TranslationModel best = open_model(run);
  const EvaluationPairs pairs = evaluation_pairs(experiment, std::move(test), best.vocabularies);
  fmt::print("test: {}\n", human_validation(TranslationTask::evaluate(best, pairs)));
}

int run_train(const TrainCommand& command) {
  use_threads(command.threads);
  const Experiment experiment = read_experiment(command.config, command.settings);
  require_nobody_trains(command.run);
  if (command.is_resumed) {
    const std::string damage = restore_last(command.run);
    if (!damage.empty()) fmt::print(stderr, "{}\n", damage);
  } else {
    require_no_run(command.run);
  }
  const std::filesystem::path folder = std::filesystem::path(command.config).parent_path();
  Corpus corpus = load_corpus(experiment.data, folder);
  print_account(corpus);

  const Vocabularies vocabularies = command.is_resumed
                                        ? open_model(std::filesystem::path(command.run) / "last").vocabularies
                                        : make_vocabularies(experiment.vocabulary, corpus, folder);
  const auto pairs = training_pairs(experiment, corpus, vocabularies);
  std::int64_t num_pairs = corpus.num_training_pairs();
  if (!command.is_resumed) {  // of a large corpus this takes minutes, and a run that goes on has seen it
    const EncodeAccount account = pairs->survey();
    print_account(account);
    num_pairs = account.kept;
  }
  fmt::print("{} pairs to learn from, {} to validate, {} to test; {}\n", num_pairs, corpus.valid.size(),
             corpus.test.size(), vocabularies_in_words(vocabularies, experiment.vocabulary.shared));

  const auto model = make_model(experiment, vocabularies);
  fmt::print("a {} of {} parameters, {} threads\n", model_name(model->options().kind),
             count_parameters(model->parameters()), num_threads());
  EvaluationPairs validation = evaluation_pairs(experiment, std::move(corpus.valid), vocabularies);
  TranslationTask task({experiment, vocabularies, model}, std::move(validation));
  BatchStream batches(pairs, experiment.batch, experiment.train.seed);
  Progress progress;
  TensorBoard tensorboard(command.run, task);
  AttentionLog attention(command.run);
  Observers observers({&progress, &tensorboard, &attention});
  Trainer trainer(experiment.train, task, batches, observers, command.run);
  if (command.is_resumed) trainer.resume();

  InterruptWatch interrupt;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = trainer.run(interrupt.requests());
  progress.finish_line();
  if (outcome == Outcome::kInterrupted) {
    fmt::print("stopped at step {}; all is saved. To go on, add --resume to the command.\n", trainer.state().step);
    return interrupt.exit_code();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{} after {} steps and {}\n",
             outcome == Outcome::kOutOfPatience ? "validation no longer improves: ended" : "ended",
             trainer.state().step, human_time(took.count()));
  report_test(experiment, command.run, std::move(corpus.test));
  return 0;
}

}  // namespace

void add_train(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* train = program.add_subcommand("train", "Train a model as a config file says");
  train->add_option("config", command->config, "the config, a TOML file")->required();
  train->add_option("--out", command->run, "the run's directory: checkpoints and metrics")->required();
  train->add_option("--set", command->settings, "section.key=value, instead of what the config says; repeatable")
      ->allow_extra_args(false);
  train->add_flag("--resume", command->is_resumed, "go on where the run stopped");
  add_threads_option(*train, command->threads);
  train->callback([command, &exit_code] { exit_code = run_train(*command); });
}

}  // namespace edgewise
