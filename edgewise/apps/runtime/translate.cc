// SPDX-License-Identifier: Apache-2.0
// edgewise translate --model RUN [INPUT]
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/apps/runtime/translation_lines.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// The sections of a config that --set can change.
struct SearchSection {
  SearchOptions search;

  static void list_fields(auto& self, auto&& field) { field("search", self.search, "how outputs are searched"); }
};

SearchOptions search_options(const TranslateCommand& command, const SearchOptions& defaults) {
  SearchOptions options = parse_config("", "translate", command.set, SearchSection{defaults}).search;
  check(options.kind != SearchKind::kScoring, "translate: kind is scoring, needs beam or sampling; use score-pairs");
  check_effects(options, defaults, "translate");
  return options;
}

/// Throws Error if --set repeats the option that `name` sets.
template <class Value>
void check_set_once(const TranslateCommand& command, std::string_view name, const std::optional<Value>& value,
                    std::string_view option) {
  if (!value) return;
  const std::string beginning = fmt::format("{}=", option);
  for (const std::string& setting : command.set) {
    check(!setting.starts_with(beginning), "translate: {} is {} and --set has {}, needs one of them", name, *value,
          setting);
  }
}

/// Throws Error if a text or a document is translated with an option that needs one sentence per line, and for the
/// language of a text that is neither.
void check_text_options(const TranslateCommand& command) {
  check(!command.is_text || !command.is_html, "translate: --text and --html are set, needs one of them");
  check(command.text.language.empty() || command.is_text || command.is_html,
        "translate: --text-language is set, needs --text or --html");
  if (!command.is_text && !command.is_html) return;
  const auto refuse = [mode = command.is_html ? "--html" : "--text"](std::string_view option, bool is_set) {
    check(!is_set, "translate: {} and {} are set, needs one of them; {} is for one sentence per line", mode, option,
          option);
  };
  refuse("--json", command.format.is_json);
  refuse("--scores", command.format.has_scores);
  refuse("--alignments", command.format.has_alignments);
  refuse("--prefix", !command.prefixes.empty());
  refuse("--max-line", command.max_line > 0);
}

void check_command(const TranslateCommand& command) {
  const TranslatorOptions& options = command.settings.options;
  check_set_once(command, "--beam", options.beam, "search.beam");
  check_set_once(command, "--nbest", options.n_best, "search.n_best");
  check_set_once(command, "--length-penalty", options.length_penalty, "search.length_penalty");
  check_set_once(command, "--attention-layer", options.attention_layer, "search.attention_layer");
  check_set_once(command, "--attention-head", options.attention_head, "search.attention_head");
  require_alignments("translate", options, command.needs_alignments(), "--alignments, --attention or --html");
  require_one_standard_input("translate", {"the input", command.input}, {"--prefix", command.prefixes});
}

void run_translate(const TranslateCommand& command, const CLI::App& translate) {
  if (command.merge > 0) return run_merge(command, translate);
  if (command.settings.models.empty()) throw CLI::RequiredError("--model");
  if (command.shard) check_options_of_shard(command);
  check_text_options(command);
  check_command(command);
  if (command.shard) {
    run_shard(command);
  } else if (command.is_html) {
    run_html(command);
  } else if (command.is_text) {
    run_text(command);
  } else {
    run_lines(command);
  }
}

/// Returns the paths of all that the command reads.
std::vector<std::filesystem::path> input_paths(const TranslateCommand& command) {
  std::vector<std::filesystem::path> paths(command.settings.models.begin(), command.settings.models.end());
  paths.emplace_back(command.input);
  if (!command.prefixes.empty()) paths.emplace_back(command.prefixes);
  return paths;
}

}  // namespace

void print_report(const std::string& text) { print_error("{}\n", printable(text)); }

TextLinesOptions text_options(const TranslateCommand& command, const std::string& path) {
  TextLinesOptions options = {
      .path = path, .caller = "translate", .bad_text = command.bad_text, .report = print_report};
  if (command.max_line > 0) {
    options.max_line_bytes = command.max_line;
    options.long_lines = LongLines::kCut;
  }
  return options;
}

std::unique_ptr<AtomicFile> open_output_file(const TranslateCommand& command) {
  return open_output(command.output, input_paths(command), "translate");
}

Translator open_translator(const TranslateCommand& command) {
  std::vector<ModelFiles> models = read_models(command.settings.models, "translate");
  TranslatorOptions options = command.settings.options;
  options.search = search_options(command, models.front().experiment.search);
  options.alignment = command.needs_alignments();
  use_threads(command.settings.threads);
  return Translator(std::move(models), options);
}

Translator open_translator_of_texts(const TranslateCommand& command, std::string_view mode) {
  Translator translator = open_translator(command);
  const std::int64_t n_best = translator.search_options().n_best;
  check(n_best == 1, "translate: {} is set and n_best is {}, needs 1, because a text has one output; set --nbest 1",
        mode, n_best);
  return translator;
}

void run_lines(TranslateCommand command, const TextShard& shard) {
  std::optional<TextLinesOptions> prefixes;
  if (!command.prefixes.empty()) prefixes = text_options(command, command.prefixes);
  RequestReader requests(text_options(command, command.input), std::move(prefixes), shard);
  const std::unique_ptr<AtomicFile> output = open_output_file(command);
  Translator translator = open_translator(command);
  if (command.shard) check_search_of_shard(translator.search_options());
  command.format.is_n_best = translator.search_options().n_best > 1;
  write_translations(translator, requests, output.get(), "translate", command.format);
}

void make_translate_command(CLI::App& translate) {
  auto command = std::make_shared<TranslateCommand>();
  TranslatorOptions& options = command->settings.options;
  add_path(translate, "input", command->input, "the text to translate, plain or compressed; default: standard input");
  add_path(translate, "--out", command->output, "the file to write; default: standard output");
  add_translator_options(translate, command->settings);
  translate.get_option("--model")->required(false);  // --merge needs none
  add_choice(translate, "--shortlist", options.shortlist,
             "the lexical shortlist of a model that has one: auto (default) computes only the output tokens that it "
             "selects for an input; off computes all tokens");
  add_number(translate, "--beam", &options.beam,
             "the number of hypotheses in the beam; 1: greedy search; default: the model's config",
             range_of<SearchOptions>("beam"));
  add_number(translate, "--nbest", &options.n_best,
             "the number of outputs per sentence; above 1, each line begins with the input's line number",
             range_of<SearchOptions>("n_best"));
  add_number(translate, "--length-penalty", &options.length_penalty,
             "the exponent of the length that divides a score; default: the model's config",
             range_of<SearchOptions>("length_penalty"));
  translate
      .add_option("--set", command->set,
                  "search.key=value, replaces an option of [search] in the model's config; may be repeated")
      ->allow_extra_args(false);
  add_path(translate, "--prefix", command->prefixes,
           "a file with the beginning of the output for each input line, as many lines as the input has");
  add_number(translate, "--max-input", &options.max_input,
             "the most tokens of an input; 0: no limit; default: the limit of training",
             range_of<DataOptions>("max_length"));
  add_choice(translate, "--long-inputs", options.long_inputs,
             "inputs above --max-input: split at sentence ends (split, default), or cut off (cut)");
  add_number(translate, "--max-line", &command->max_line,
             "the most bytes of an input line, whose rest is left out; default 0: a line above 64 MiB is an error",
             at_least(0).at_most(1 << 30));
  add_choice(translate, "--bad-text", command->bad_text,
             "lines that are not UTF-8: an error (stop, default), or U+FFFD for each bad byte (replace)");
  translate.add_flag("--unknown", options.allow_unknown, "allow the token <unknown> in outputs");
  translate.add_flag_callback(
      "--no-protect", [command] { command->settings.options.protect = false; },
      "pass all text to the model as it is: numbers, addresses, placeholders, emoji, code and invisible characters");
  translate.add_flag("--scores", command->format.has_scores, "print the score before each output");
  translate.add_flag("--alignments", command->format.has_alignments,
                     "print the aligned token pairs after each output, INPUT-OUTPUT from 0");
  CLI::Option* text = translate.add_flag(
      "--text", command->is_text,
      "translate a text: split its lines into sentences, and keep all line breaks and spaces between sentences");
  CLI::Option* html =
      translate.add_flag("--html", command->is_html, "translate the text of an HTML document, and keep its markup");
  add_number(translate, "--max-document", &command->max_document, "the most bytes of an HTML document; default: 16 MiB",
             at_least(1).at_most(1 << 30))
      ->needs(html);
  translate.add_option(
      "--text-language", command->text.language,
      "the language of the text, by whose abbreviations it is split, such as de; default: --from or the "
      "model's input language, or else rules for most languages");
  add_choice(translate, "--line-breaks", command->text.line_breaks,
             "line breaks of the text: a line break ends a sentence (end, default), or is a space as in wrapped text, "
             "which an empty line or a list item ends (space)")
      ->needs(text);
  CLI::Option* json = translate.add_flag("--json", command->format.is_json, "print one line of JSON for each sentence");
  translate
      .add_flag("--attention", command->format.has_attention,
                "add each output token's cross-attention weights to the JSON")
      ->needs(json);
  translate.add_option(
      "--shard", command->shard,
      "I/N: translate the lines I, I + N, I + 2 N and so on of the input, counted from 0, and write OUT.part-I-of-N");
  add_number(translate, "--merge", &command->merge, "join the N parts of --shard I/N to OUT",
             at_least(1).at_most(kMaxShards));
  translate.callback([command, &translate] { run_translate(*command, translate); });
}

void add_translate(CLI::App& program) {
  make_translate_command(*program.add_subcommand("translate", "Translate text, one sentence per line"));
}

}  // namespace edgewise
