// SPDX-License-Identifier: Apache-2.0
// edgewise shortlist MODEL INPUT OUTPUT --out DIRECTORY
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/translate/learn_shortlist.h"

namespace edgewise {
namespace {

struct ShortlistCommand {
  std::filesystem::path model;
  AlignedFiles files;
  std::filesystem::path destination;
  LearnShortlistOptions options;
  Overwrite overwrite = Overwrite::kNo;
};

void run_shortlist(const ShortlistCommand& command) {
  make_output_optional();
  const ShortlistTable table =
      learn_shortlist(command.model, command.files, command.destination, command.options, command.overwrite);
  const auto lists = static_cast<double>(table.offsets.size() - 1);
  print_output("{}: {} with a shortlist of {:.1f} tokens for each input token, and the first {}\n",
               printable(command.destination.string()), printable(command.model.string()),
               static_cast<double>(table.tokens.size()) / lists, table.first);
}

}  // namespace

void add_shortlist(CLI::App& program) {
  auto command = std::make_shared<ShortlistCommand>();
  CLI::App& shortlist = *program.add_subcommand(
      "shortlist", "Learn from sentence pairs which output tokens a model computes for an input");
  LearnShortlistOptions& options = command->options;
  add_path(shortlist, "model", command->model, "run or model directory, or the name of a model")->required();
  add_path(shortlist, "inputs", command->files.inputs, "a file of input sentences, one per line")->required();
  add_path(shortlist, "outputs", command->files.outputs, "a file of their translations, one for each input")
      ->required();
  add_path(shortlist, "--out", command->destination, "the model directory to write")->required();
  add_overwrite_option(shortlist, command->overwrite);
  add_path(shortlist, "--alignment", command->files.alignment,
           "a file of links between the tokens of each pair, such as `edgewise score-pairs --alignments` prints; "
           "default: the pairs are aligned by Model 1");
  const auto add = [&](const std::string& name, const FieldValue& value, const std::string& help,
                       std::string_view field) {
    add_number(shortlist, name, value, help, range_of<LearnShortlistOptions>(field));
  };
  add("--first", &options.first, "the number of the vocabulary's first tokens that all outputs may have; default 100",
      "first");
  add("--best", &options.best, "the most output tokens for an input token; default 100", "best");
  add("--threshold", &options.threshold,
      "the least probability that an input token is translated by an output token; default 0.0001", "threshold");
  add("--sentences", &options.sentences,
      "the number of pairs to learn from, evenly spread over the files; 0: all; default 200000", "sentences");
  add("--iterations", &options.iterations, "the steps of expectation maximisation without --alignment; default 5",
      "iterations");
  shortlist.callback([command] { run_shortlist(*command); });
}

}  // namespace edgewise
