// SPDX-License-Identifier: Apache-2.0
// edgewise score-pairs --model RUN INPUT OUTPUT
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/enum_option.h"
#include "edgewise/apps/runtime/open_translator.h"
#include "edgewise/apps/runtime/translation_text.h"
#include "edgewise/base/error.h"
#include "edgewise/translate/text_lines.h"

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

/// Pairs from two files of as many lines.
class Pairs {
 public:
  Pairs(const std::string& inputs, const std::string& outputs)
      : inputs_({.path = inputs, .caller = "score-pairs"}), outputs_({.path = outputs, .caller = "score-pairs"}) {}

  std::optional<TranslationRequest> next() {
    auto input = inputs_.next();
    auto output = outputs_.next();
    check(input.has_value() == output.has_value(), "score-pairs: the {} end behind line {}, as many lines are needed",
          input ? "outputs" : "inputs", (input ? inputs_ : outputs_).line_number() - 1);
    if (!input) return std::nullopt;
    return TranslationRequest{std::move(*input), std::move(*output)};
  }

 private:
  TextLines inputs_;
  TextLines outputs_;
};

int run_score_pairs(ScorePairsCommand command, const OpenScorers& open_scorers) {
  Pairs pairs(command.inputs, command.outputs);
  std::vector<ModelFiles> models = read_models(command.settings, "score-pairs");
  TranslatorOptions& options = command.settings.options;
  options.search = models.front().experiment.search;
  options.search.kind = SearchKind::kScoring;
  options.search.n_best = 1;
  options.search.length_norm = command.length_norm;
  options.alignment = command.format.has_alignments;
  const auto translator = open_translator(std::move(models), command.settings, open_scorers, "score-pairs");

  command.format.has_scores = true;
  write_translations(
      *translator, [&] { return pairs.next(); }, command.destination, "score-pairs", command.format);
  return 0;
}

}  // namespace

void add_score_pairs(CLI::App& program, const OpenScorers& open_scorers, int& exit_code) {
  auto command = std::make_shared<ScorePairsCommand>();
  CLI::App* score_pairs =
      program.add_subcommand("score-pairs", "How likely a model finds given outputs: a score before each");
  score_pairs->add_option("inputs", command->inputs, "a sentence a line")->required();
  score_pairs->add_option("outputs", command->outputs, "the output of each, a line each")->required();
  score_pairs->add_option("--out", command->destination, "the file to write; standard output by default");
  add_translator_options(*score_pairs, command->settings);
  score_pairs
      ->add_option("--length-norm", command->length_norm,
                   "what a log-probability is divided by: none (default), average (the length) or gnmt")
      ->transform(one_of<LengthNorm>());
  score_pairs->add_flag("--alignments", command->format.has_alignments, "put input-output pairs of tokens behind it");
  score_pairs->add_flag("--json", command->format.is_json, "print a line of JSON for each pair");
  score_pairs->callback([command, open_scorers, &exit_code] { exit_code = run_score_pairs(*command, open_scorers); });
}

}  // namespace edgewise
