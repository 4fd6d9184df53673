// SPDX-License-Identifier: Apache-2.0
// edgewise train CONFIG.toml --out RUN
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/commands.h"
#include "edgewise/apps/interrupt.h"
#include "edgewise/apps/progress.h"
#include "edgewise/apps/threads_option.h"
#include "edgewise/apps/translation_task.h"
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

/// Of an evaluation split, every sentence counts, however long.
EvaluationPairs encode_evaluation(SentencePairs sentences, const Experiment& experiment,
                                  const Vocabularies& vocabularies) {
  EvaluationPairs pairs{std::move(sentences), {}};
  if (pairs.sentences.size() == 0) return pairs;
  EncodeOptions options = encode_options(experiment.data);
  options.max_length = 0;
  pairs.encoded = encode_pairs(pairs.sentences, *vocabularies.input, *vocabularies.output, options);
  return pairs;
}

Vocabularies learn_vocabularies(const SentencePairs& pairs, const VocabularySection& options) {
  if (options.shared) {
    const auto both = build_vocabulary({pairs.inputs, pairs.outputs}, options);
    return {both, both};
  }
  return {build_vocabulary({pairs.inputs}, options), build_vocabulary({pairs.outputs}, options)};
}

void describe_data(const Corpus& corpus, const EncodedPairs& training, const Vocabularies& vocabularies) {
  fmt::print("{} pairs to learn from, {} to validate, {} to test; ", training.pairs.size(), corpus.valid.size(),
             corpus.test.size());
  if (vocabularies.input == vocabularies.output) {
    fmt::print("one vocabulary of {} tokens\n", vocabularies.input->size());
  } else {
    fmt::print("vocabularies of {} and {} tokens\n", vocabularies.input->size(), vocabularies.output->size());
  }
  const std::string skipped = corpus.train.account.skipped_in_words();
  if (!skipped.empty()) fmt::print("left out: {}\n", skipped);
  for (const std::string& place : corpus.train.account.places) fmt::print("  {}\n", place);
  if (training.too_long > 0)
    fmt::print("left out or shortened: {} pairs with too long a sentence\n", training.too_long);
}

void report_test(const Experiment& experiment, const std::filesystem::path& run, SentencePairs test) {
  if (test.size() == 0) return;
  const TranslationModel best = open_model(run);
  const EvaluationPairs pairs = encode_evaluation(std::move(test), experiment, best.vocabularies);
  fmt::print("test: {}\n", human_validation(TranslationTask::evaluate(best, pairs)));
}

int run_train(const TrainCommand& command) {
  use_threads(command.threads);
  const Experiment experiment = read_experiment(command.config, command.settings);
  require_nobody_trains(command.run);
  if (!command.is_resumed) require_no_run(command.run);
  Corpus corpus = load_corpus(experiment.data, std::filesystem::path(command.config).parent_path());

  Vocabularies vocabularies = command.is_resumed ? open_model(std::filesystem::path(command.run) / "last").vocabularies
                                                 : learn_vocabularies(corpus.train, experiment.vocabulary);
  EncodedPairs training =
      encode_pairs(corpus.train, *vocabularies.input, *vocabularies.output, encode_options(experiment.data));
  describe_data(corpus, training, vocabularies);

  const auto model = make_model(experiment, vocabularies);
  fmt::print("a {} of {} parameters, {} threads\n", model_name(model->options().kind),
             count_parameters(model->parameters()), num_threads());
  EvaluationPairs validation = encode_evaluation(std::move(corpus.valid), experiment, vocabularies);
  TranslationTask task({experiment, vocabularies, model}, std::move(validation));
  BatchStream batches(std::move(training.pairs), experiment.batch, experiment.train.seed);
  Progress progress;
  TensorBoard tensorboard(command.run, task);
  Observers observers({&progress, &tensorboard});
  Trainer trainer(experiment.train, task, batches, observers, command.run);
  if (command.is_resumed) trainer.resume();

  const InterruptWatch interrupt;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = trainer.run(interrupt.stop());
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
