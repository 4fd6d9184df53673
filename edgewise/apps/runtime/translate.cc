// SPDX-License-Identifier: Apache-2.0
// edgewise translate --model RUN [INPUT]
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/enum_option.h"
#include "edgewise/apps/runtime/open_translator.h"
#include "edgewise/apps/runtime/translation_text.h"
#include "edgewise/base/config.h"
#include "edgewise/base/error.h"
#include "edgewise/translate/text_lines.h"

namespace edgewise {
namespace {

struct TranslateCommand {
  TranslatorSettings settings;
  std::string input = "-";
  std::string output;
  std::string prefixes;
  std::optional<std::int64_t> beam;
  std::optional<std::int64_t> n_best;
  std::optional<double> length_penalty;
  std::vector<std::string> set;  // search.key=value
  BadText bad_text = BadText::kStop;
  std::size_t max_line = 0;  // bytes; 0: as TextLinesOptions says
  TranslationFormat format;
};

/// What of a config can be set here.
struct SearchSection {
  SearchOptions search;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("search", self.search, "how an output is found");
  }
};

SearchOptions search_options(const TranslateCommand& command, const SearchOptions& of_model) {
  SearchOptions options = parse_config("", "translate", command.set, SearchSection{of_model}).search;
  if (command.beam) options.beam = *command.beam;
  if (command.n_best) options.n_best = *command.n_best;
  if (command.length_penalty) options.length_penalty = *command.length_penalty;
  check(options.kind != SearchKind::kScoring, "translate: kind is scoring, needs beam or sampling; use score-pairs");
  return options;
}

void report(const std::string& text) { fmt::print(stderr, "{}\n", text); }

/// The text, and the beginnings of its outputs, line by line.
class Requests {
 public:
  explicit Requests(const TranslateCommand& command) : lines_(options_of(command, command.input)) {
    if (!command.prefixes.empty()) prefixes_.emplace(options_of(command, command.prefixes));
  }

  std::optional<TranslationRequest> next() {
    auto line = lines_.next();
    if (!line) return std::nullopt;
    TranslationRequest request{std::move(*line)};
    if (!prefixes_) return request;
    auto prefix = prefixes_->next();
    check(prefix.has_value(), "translate: the prefixes have {} lines, needs one for each line of the text",
          lines_.line_number() - 1);
    request.prefix = std::move(*prefix);
    return request;
  }

 private:
  static TextLinesOptions options_of(const TranslateCommand& command, const std::string& path) {
    TextLinesOptions options = {.path = path, .caller = "translate", .bad_text = command.bad_text, .report = report};
    if (command.max_line > 0) {
      options.max_line_bytes = command.max_line;
      options.long_lines = LongLines::kCut;
    }
    return options;
  }

  TextLines lines_;
  std::optional<TextLines> prefixes_;
};

int run_translate(TranslateCommand command, const OpenScorers& open_scorers) {
  Requests requests(command);
  std::vector<ModelFiles> models = read_models(command.settings, "translate");
  TranslatorOptions& options = command.settings.options;
  options.search = search_options(command, models.front().experiment.search);
  options.alignment = command.format.has_alignments || command.format.has_attention;
  command.format.is_n_best = options.search.n_best > 1;
  const auto translator = open_translator(std::move(models), command.settings, open_scorers, "translate");

  write_translations(
      *translator, [&] { return requests.next(); }, command.output, "translate", command.format);
  return 0;
}

}  // namespace

void declare_translate(CLI::App& translate, const OpenScorers& open_scorers, int& exit_code) {
  auto command = std::make_shared<TranslateCommand>();
  TranslatorSettings& settings = command->settings;
  translate.add_option("input", command->input, "the text; standard input by default");
  translate.add_option("--out", command->output, "the file to write; standard output by default");
  add_translator_options(translate, settings);
  translate.add_option("--beam", command->beam, "hypotheses kept alive a sentence; 1 is greedy");
  translate.add_option("--nbest", command->n_best, "outputs of a sentence, each on a line behind the line's number");
  translate.add_option("--length-penalty", command->length_penalty, "exponent of the length a score is divided by");
  translate.add_option("--set", command->set, "any option of a config's [search]: search.kind=sampling")
      ->allow_extra_args(false);
  translate.add_option("--prefix", command->prefixes, "a file of what each line's output begins with");
  translate.add_option("--max-input", settings.max_input, "tokens of a longest input; by default the training's")
      ->check(CLI::NonNegativeNumber);
  translate.add_option("--long-inputs", settings.long_inputs, "longer ones: split (default) at sentence ends, or cut")
      ->transform(one_of<LongInputs>());
  translate
      .add_option("--max-line", command->max_line,
                  "bytes of a line, whose rest is left out; by default more than 64 MiB are an error")
      ->check(CLI::Range(0, 1 << 30));
  translate.add_option("--bad-text", command->bad_text, "a line that is not UTF-8: stop (default), or replace")
      ->transform(one_of<BadText>());
  translate.add_flag("--unknown", settings.options.allow_unknown, "let <unknown> appear in outputs");
  translate.add_flag("--scores", command->format.has_scores, "put the score before each output");
  translate.add_flag("--alignments", command->format.has_alignments, "put input-output pairs of tokens behind it");
  CLI::Option* json = translate.add_flag("--json", command->format.is_json, "print a line of JSON for each sentence");
  translate.add_flag("--attention", command->format.has_attention, "put where each token looked into the JSON")
      ->needs(json);
  translate.callback([command, open_scorers, &exit_code] { exit_code = run_translate(*command, open_scorers); });
}

void add_translate(CLI::App& program, const OpenScorers& open_scorers, int& exit_code) {
  declare_translate(*program.add_subcommand("translate", "Translate text, a sentence a line"), open_scorers, exit_code);
}

}  // namespace edgewise
