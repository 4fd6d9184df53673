// SPDX-License-Identifier: Apache-2.0
// edgewise vocab [CONFIG.toml] --out DIRECTORY
#include <memory>

#include "edgewise/apps/progress.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/experiment/make_vocabularies.h"

namespace edgewise {
namespace {

struct VocabCommand {
  std::string config;
  std::string destination;
  std::vector<std::string> settings;
  Overwrite overwrite = Overwrite::kNo;
};

void run_vocab(const VocabCommand& command) {
  make_output_optional();
  Experiment experiment = command.config.empty() ? parse_experiment("", "the command line", command.settings)
                                                 : read_experiment(command.config, command.settings);
  check(experiment.vocabulary.file.empty(), "vocab: vocabulary.file is {}, needs none to learn one; leave it out",
        quote_unless_plain(experiment.vocabulary.file));
  check_data_options(experiment, "vocab");
  experiment.data.valid.clear();
  experiment.data.test.clear();
  check_output_directory(command.destination, {}, command.overwrite, "vocab");
  const std::filesystem::path folder = std::filesystem::path(command.config).parent_path();
  const auto write = [&](const Vocabularies& vocabularies, const std::string& source) {
    write_vocabularies(command.destination, vocabularies, experiment.vocabulary.shared, "vocab");
    print_output("{}: {}, from {}\n", printable(command.destination),
                 describe_vocabularies(vocabularies, experiment.vocabulary.shared), source);
  };
  if (!has_encoder(experiment.model.kind)) {
    const bool is_bytes = experiment.vocabulary.kind == VocabularyKind::kBytes;
    const TextCorpus texts = load_text_corpus(experiment.data, {.is_bytes = is_bytes}, folder);
    print_text_report(texts);
    return write(make_vocabularies(experiment.vocabulary, *texts.train),
                 fmt::format("{} lines", texts.train->report().lines));
  }
  const Corpus corpus = load_corpus(experiment.data, folder);
  print_corpus_report(corpus);
  write(make_vocabularies(experiment.vocabulary, corpus), fmt::format("{} pairs", corpus.num_training_pairs()));
}

}  // namespace

void add_vocab(CLI::App& program) {
  auto command = std::make_shared<VocabCommand>();
  CLI::App* vocab = program.add_subcommand(
      "vocab", "Learn the vocabularies of a config and write them, for vocabulary.file of other configs");
  add_path(*vocab, "config", command->config,
           "the config, a TOML file; only [data] and [vocabulary] are used; default: all options are set by --set");
  add_path(*vocab, "--out", command->destination, "the directory of vocabulary files to write")->required();
  add_overwrite_option(*vocab, command->overwrite);
  add_settings_option(*vocab, command->settings);
  vocab->callback([command] { run_vocab(*command); });
}

}  // namespace edgewise
