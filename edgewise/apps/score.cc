// SPDX-License-Identifier: Apache-2.0
// edgewise score --reference REF [HYPOTHESIS]
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/metrics/bleu.h"
#include "edgewise/text/metrics/chrf.h"

namespace edgewise {
namespace {

struct ScoreCommand {
  std::string reference;
  std::string hypothesis = "-";
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lower_case = false;
  int word_order = 0;
  int digits = 1;
  bool is_json = false;
};

std::vector<std::string> read_utf8_lines(const std::string& path) {
  LineReader reader(path, {.caller = "score"});
  std::vector<std::string> sentences;
  std::string line;
  while (reader.next(line)) {
    if (const auto bad = find_bad_utf8(line)) {
      fail("score: {}:{} has a byte that is not UTF-8 at {}, needs UTF-8", reader.path(), reader.line_number(), *bad);
    }
    sentences.push_back(line);
  }
  return sentences;
}

void print_json(const BleuScore& bleu_score, const ChrfScore& chrf_score, const BleuOptions& bleu_options,
                const ChrfOptions& chrf_options) {
  const std::string bleu_json = JsonObject()
                                    .add("score", bleu_score.score)
                                    .add("signature", bleu_signature(bleu_options))
                                    .add_json("precisions", json_array(bleu_score.precisions, json_number))
                                    .add("brevity_penalty", bleu_score.brevity_penalty)
                                    .add("ratio", bleu_score.ratio())
                                    .add("hypothesis_length", bleu_score.hypothesis_length)
                                    .add("reference_length", bleu_score.reference_length)
                                    .text();
  const std::string chrf_json = JsonObject()
                                    .add("name", chrf_score.name)
                                    .add("score", chrf_score.score)
                                    .add("signature", chrf_signature(chrf_options))
                                    .text();
  print_output("{}\n", JsonObject().add_json("bleu", bleu_json).add_json("chrf", chrf_json).text());
}

void run_score(const ScoreCommand& command) {
  require_one_standard_input("score", {"the hypothesis", command.hypothesis}, {"--reference", command.reference});
  const std::vector<std::string> references = read_utf8_lines(command.reference);
  const std::vector<std::string> hypotheses = read_utf8_lines(command.hypothesis);
  check(hypotheses.size() == references.size(), "score: {} has {} lines and {} has {}, needs as many",
        command.hypothesis == "-" ? "standard input" : command.hypothesis, hypotheses.size(), command.reference,
        references.size());

  const BleuOptions bleu_options{.tokenizer = command.tokenizer, .lower_case = command.lower_case};
  const ChrfOptions chrf_options{.word_order = command.word_order, .lower_case = command.lower_case};
  const BleuScore bleu_score = bleu(hypotheses, references, bleu_options);
  const ChrfScore chrf_score = chrf(hypotheses, references, chrf_options);
  if (command.is_json) {
    print_json(bleu_score, chrf_score, bleu_options, chrf_options);
  } else {
    print_output("{}\n{}\n", bleu_score.format(command.digits, bleu_signature(bleu_options)),
                 chrf_score.format(command.digits, chrf_signature(chrf_options)));
  }
}

}  // namespace

void add_score(CLI::App& program) {
  auto command = std::make_shared<ScoreCommand>();
  CLI::App* score =
      program.add_subcommand("score", "Score translations by BLEU and chrF, with the numbers of sacreBLEU");
  add_path(*score, "hypothesis", command->hypothesis,
           "the file of translations, one per line; default: standard input");
  add_path(*score, "--reference", command->reference, "the file of reference translations, one per line")->required();
  add_choice(*score, "--tokenize", command->tokenizer, "the tokenizer of BLEU: 13a (default), intl or none");
  score->add_flag("--lowercase", command->lower_case, "lower-case translations and references before scoring");
  add_number(*score, "--chrf-word-order", &command->word_order,
             "the longest word n-gram of chrF; 0: chrF (default), 2: chrF++", at_least(0).at_most(4));
  auto* digits = add_number(*score, "--digits", &command->digits, "the number of decimals to print; default 1",
                            at_least(0).at_most(12));
  score->add_flag("--json", command->is_json, "print the result as one line of JSON")->excludes(digits);
  score->callback([command] { run_score(*command); });
}

}  // namespace edgewise
