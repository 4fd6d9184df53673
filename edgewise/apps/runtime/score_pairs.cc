// SPDX-License-Identifier: Apache-2.0
// edgewise score-pairs --model RUN INPUT OUTPUT
#include <utility>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/translation_lines.h"

namespace edgewise {
namespace {

struct ScorePairsCommand {
  TranslatorSettings settings;
  std::string inputs;
  std::string outputs;
  std::string destination;
  LengthNorm length_norm = LengthNorm::kNone;
  TranslationFormat format;
};

std::vector<std::filesystem::path> input_paths(const ScorePairsCommand& command) {
  std::vector<std::filesystem::path> paths(command.settings.models.begin(), command.settings.models.end());
  paths.insert(paths.end(), {command.inputs, command.outputs});
  return paths;
}

void run_score_pairs(ScorePairsCommand command) {
  require_alignments("score-pairs", command.settings.options, command.format.has_alignments, "--alignments");
  require_one_standard_input("score-pairs", {"the inputs", command.inputs}, {"the outputs", command.outputs});
  RequestReader pairs({.path = command.inputs, .caller = "score-pairs"},
                      TextLinesOptions{.path = command.outputs, .caller = "score-pairs"});
  const std::unique_ptr<AtomicFile> destination = open_output(command.destination, input_paths(command), "score-pairs");
  std::vector<ModelFiles> models = read_models(command.settings.models, "score-pairs");
  TranslatorOptions& options = command.settings.options;
  options.search = models.front().experiment.search;
  options.search->kind = SearchKind::kScoring;
  options.search->length_norm = command.length_norm;
  options.n_best = 1;
  options.alignment = command.format.has_alignments;
  use_threads(command.settings.threads);
  Translator translator(std::move(models), options);

  command.format.has_scores = true;
  write_translations(translator, pairs, destination.get(), "score-pairs", command.format);
}

}  // namespace

void add_score_pairs(CLI::App& program) {
  auto command = std::make_shared<ScorePairsCommand>();
  CLI::App* score_pairs =
      program.add_subcommand("score-pairs", "Score given outputs by a model: print the score before each output");
  add_path(*score_pairs, "inputs", command->inputs, "a file of input sentences, one per line")->required();
  add_path(*score_pairs, "outputs", command->outputs, "a file of output sentences, one for each input")->required();
  add_path(*score_pairs, "--out", command->destination, "the file to write; default: standard output");
  add_translator_options(*score_pairs, command->settings);
  add_choice(*score_pairs, "--length-norm", command->length_norm,
             "the divisor of a log-probability: none (default), average (the length), gnmt (GNMT's length penalty) or "
             "power (a power of the length)");
  score_pairs->add_flag("--alignments", command->format.has_alignments,
                        "print the aligned token pairs after each output, INPUT-OUTPUT from 0");
  score_pairs->add_flag("--json", command->format.is_json, "print one line of JSON for each pair");
  score_pairs->callback([command] { run_score_pairs(*command); });
}

}  // namespace edgewise
