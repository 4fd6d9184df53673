// SPDX-License-Identifier: Apache-2.0
// edgewise vocab [CONFIG.toml] --out DIRECTORY
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/training_data.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

struct VocabCommand {
  std::string config;
  std::string destination;
  std::vector<std::string> settings;
};

int run_vocab(const VocabCommand& command) {
  Experiment experiment = command.config.empty() ? parse_experiment("", "the command line", command.settings)
                                                 : read_experiment(command.config, command.settings);
  check(experiment.vocabulary.file.empty(), "vocab: vocabulary.file is {}, needs none to learn one; leave it out",
        experiment.vocabulary.file);
  experiment.data.valid.clear();
  experiment.data.test.clear();
  const Corpus corpus = load_corpus(experiment.data, std::filesystem::path(command.config).parent_path());
  print_account(corpus);
  const Vocabularies vocabularies = make_vocabularies(experiment.vocabulary, corpus);
  DirectoryWriter writer(command.destination, "vocab");
  for (const auto& [name, bytes] : vocabulary_files(vocabularies, experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.commit();
  fmt::print("{}: {}, from {} pairs\n", command.destination,
             vocabularies_in_words(vocabularies, experiment.vocabulary.shared), corpus.num_training_pairs());
  return 0;
}

}  // namespace

void add_vocab(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<VocabCommand>();
  CLI::App* vocab = program.add_subcommand("vocab", "Learn the vocabulary that a config asks for, for vocabulary.file");
  vocab->add_option("config", command->config, "the config, of which [data] and [vocabulary] count; else all by --set");
  vocab->add_option("--out", command->destination, "the directory to write")->required();
  vocab->add_option("--set", command->settings, "section.key=value, instead of what the config says; repeatable")
      ->allow_extra_args(false);
  vocab->callback([command, &exit_code] { exit_code = run_vocab(*command); });
}

}  // namespace edgewise
