// SPDX-License-Identifier: Apache-2.0
// edgewise translate --model RUN [INPUT]
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/apps/runtime/request_reader.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/runtime/translate_html.h"
#include "edgewise/apps/runtime/translate_shards.h"
#include "edgewise/apps/runtime/translation_output.h"
#include "edgewise/base/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"
#include "edgewise/text/text_shards.h"
#include "edgewise/translate/part_file.h"

namespace edgewise {
namespace {

struct TranslateCommand {
  TranslatorSettings settings;
  std::vector<std::string> inputs;  // empty: standard input
  std::string output;
  std::string prefixes;
  std::vector<std::string> set;  // search.key=value
  BadText bad_text = BadText::kStop;
  std::uint64_t max_line = 0;  // bytes; 0: the default of TextLinesOptions
  TranslationFormat format;
  bool is_text = false;  // the input is a text and not one sentence per line
  bool is_html = false;
  TextOptions text;
  std::uint64_t max_document = HtmlDocumentOptions().max_bytes;
  std::optional<std::string> shard;
  std::int64_t merge = 0;  // parts to merge; 0: none

  std::string input() const { return inputs.empty() ? "-" : inputs.front(); }

  bool needs_alignments() const { return format.has_alignments || format.has_attention || is_html; }
};

/// The sections of a config that --set can change.
struct SearchSection {
  SearchOptions search;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("search", self.search, "how outputs are searched");
  }
};

SearchOptions search_options(const TranslateCommand& command, const SearchOptions& defaults) {
  SearchOptions options = parse_config("", "translate", command.set, SearchSection{defaults}).search;
  check(options.kind != SearchKind::kScoring, "translate: kind is scoring, needs beam or sampling; use score-pairs");
  check_effects(options, defaults, "translate");
  return options;
}

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

/// Returns the paths of all that the command reads.
std::vector<std::filesystem::path> input_paths(const TranslateCommand& command) {
  std::vector<std::filesystem::path> paths(command.settings.models.begin(), command.settings.models.end());
  paths.insert(paths.end(), command.inputs.begin(), command.inputs.end());
  if (command.inputs.empty()) paths.emplace_back("-");
  if (!command.prefixes.empty()) paths.emplace_back(command.prefixes);
  return paths;
}

std::unique_ptr<AtomicFile> open_output_file(const TranslateCommand& command) {
  return open_output(command.output, input_paths(command), "translate");
}

RequestReader open_requests(const TranslateCommand& command) {
  if (command.prefixes.empty()) return RequestReader(text_options(command, command.input()));
  return RequestReader(text_options(command, command.input()), text_options(command, command.prefixes));
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

/// Throws Error for a part of a text with an option that needs the whole text.
void check_shard_options(const TranslateCommand& command) {
  if (!command.shard) {
    check(command.inputs.size() <= 1, "translate: {} inputs are given, needs one; several are for --shard and --merge",
          command.inputs.size());
    return;
  }
  check(!command.output.empty(), "translate: --shard is set, needs --out, the text whose part is written");
  check(
      !command.inputs.empty() && std::ranges::count(command.inputs, "-") == 0,
      "translate: --shard is set and the input is standard input, needs a file, because a shard begins in the middle");
  const auto refuse = [](std::string_view option, bool is_set, std::string_view reason) {
    check(!is_set, "translate: --shard and {} are set, needs one of them, because {}", option, reason);
  };
  constexpr std::string_view kNumbers = "a shard does not know the numbers of its lines";
  refuse("--text", command.is_text, "a text is not divided at lines");
  refuse("--html", command.is_html, "a document is not divided at lines");
  refuse("--json", command.format.is_json, kNumbers);
  refuse("--prefix", !command.prefixes.empty(), kNumbers);
}

/// Throws Error for a search whose outputs for a line depend on the line's number.
void check_shard_search(const SearchOptions& search) {
  check(search.kind != SearchKind::kSampling,
        "translate: --shard is set and search.kind is sampling, needs beam, because random numbers depend on the "
        "number of a line in the whole text");
  check(search.n_best == 1,
        "translate: --shard is set and n_best is {}, needs 1, because a shard does not know the numbers of its lines",
        search.n_best);
}

void check_command(const TranslateCommand& command) {
  const TranslatorOptions& options = command.settings.options;
  check_shard_options(command);
  check_text_options(command);
  check_set_once(command, "--beam", options.beam, "search.beam");
  check_set_once(command, "--nbest", options.n_best, "search.n_best");
  check_set_once(command, "--length-penalty", options.length_penalty, "search.length_penalty");
  require_alignments("translate", options.recorded_heads, command.needs_alignments(),
                     "--alignments, --attention or --html");
  require_one_standard_input("translate", {"the input", command.input()}, {"--prefix", command.prefixes});
}

Translator open_translator(TranslateCommand& command, std::vector<ModelFiles> models) {
  TranslatorOptions& options = command.settings.options;
  options.search = search_options(command, models.front().experiment.search);
  options.alignment = command.needs_alignments();
  use_threads(command.settings.threads);
  return Translator(std::move(models), options);
}

Translator open_translator(TranslateCommand& command) {
  return open_translator(command, read_models(command.settings.models, "translate"));
}

void run_lines(TranslateCommand command) {
  RequestReader requests = open_requests(command);
  const std::unique_ptr<AtomicFile> output = open_output_file(command);
  Translator translator = open_translator(command);
  command.format.is_n_best = translator.search_options().n_best > 1;
  write_translations(translator, requests, output.get(), "translate", command.format);
}

/// Throws Error unless the search finds one output. `mode` is the option that needs it.
void require_one_output(const Translator& translator, std::string_view mode) {
  const std::int64_t n_best = translator.search_options().n_best;
  check(n_best == 1, "translate: {} is set and n_best is {}, needs 1, because a text has one output; set --nbest 1",
        mode, n_best);
}

void run_text(TranslateCommand command) {
  TextReader reader(text_options(command, command.input()), command.text.line_breaks);
  const std::unique_ptr<AtomicFile> output = open_output_file(command);
  Translator translator = open_translator(command);
  require_one_output(translator, "--text");
  write_text(translator, reader, output.get(), "translate", command.text);
}

void run_html(TranslateCommand command) {
  const std::string html = read_html_document({.path = command.input(),
                                               .caller = "translate",
                                               .bad_text = command.bad_text,
                                               .max_bytes = command.max_document,
                                               .report = print_report});
  const std::unique_ptr<AtomicFile> output = open_output_file(command);
  Translator translator = open_translator(command);
  require_one_output(translator, "--html");
  write_html(translator, html, output.get(), "translate", command.text.language);
}

/// Returns the names and values of all options that change the lines of a translation.
std::vector<std::pair<std::string, std::string>> line_options(const TranslateCommand& command,
                                                              const SearchOptions& search) {
  constexpr std::array<std::string_view, 5> kWithoutEffect = {"batch_sentences", "batch_tokens", "workers", "threads",
                                                              "max_pending_tokens"};
  std::vector<std::pair<std::string, std::string>> options = settings_of(SearchSection{search});
  for (const auto& option : settings_of(command.settings.options)) {
    if (std::ranges::count(kWithoutEffect, option.first) == 0) options.push_back(option);
  }
  for (auto& [name, value] : options) std::erase(value, '"');  // no value has quotes inside
  const TextLinesOptions text = text_options(command, "");
  options.emplace_back("scores", command.format.has_scores ? "true" : "false");
  options.emplace_back("alignments", command.format.has_alignments ? "true" : "false");
  options.emplace_back("bad_text", enum_name(command.bad_text));
  options.emplace_back("max_line", std::to_string(text.max_line_bytes));
  return options;
}

/// Returns the record of the parts that the command writes, which is the same for all parts.
PartRecord part_record(const TranslateCommand& command, std::span<const ListedDirectory> models) {
  const ListedDirectory& first = models.front();
  const Experiment experiment = parse_experiment(first.read(kConfigFile, kMaxConfigBytes), first.path(kConfigFile));
  const TranslatorOptions& options = command.settings.options;
  SearchOptions search = search_options(command, experiment.search);
  search.beam = options.beam.value_or(search.beam);
  search.n_best = options.n_best.value_or(search.n_best);
  search.length_penalty = options.length_penalty.value_or(search.length_penalty);
  check_shard_search(search);
  PartRecord record;
  record.program = fmt::format("edgewise {}", version());
  record.options = line_options(command, search);
  record.kernels = translation_instructions(options);
  for (const ListedDirectory& model : models) record.models.push_back(model_sum(model.manifest()));
  return record;
}

/// Throws Error if a part that the command may write is one of its inputs.
void check_no_part_is_input(const TranslateCommand& command, std::int64_t shards) {
  const std::vector<std::filesystem::path> inputs = input_paths(command);
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    const PartPaths paths = part_paths(command.output, shard, shards);
    for (const std::filesystem::path& path : {paths.part, paths.record, paths.unfinished}) {
      check_output_file(path, inputs, "translate");
    }
  }
}

void run_shards(TranslateCommand command) {
  const ShardChoice choice = parse_shard_choice(*command.shard, "translate");
  std::vector<ListedDirectory> models;
  for (const std::string& path : command.settings.models) {
    models.emplace_back(find_model(path, "translate"), "translate");
  }
  check_no_part_is_input(command, choice.shards);
  translate_shards({.inputs = command.inputs,
                    .out = command.output,
                    .choice = choice,
                    .lines = text_options(command, ""),
                    .format = command.format,
                    .record = part_record(command, models),
                    .open_translator = [&] {
                      return std::unique_ptr<Translator>(
                          new Translator(open_translator(command, read_models(models, "translate"))));
                    }});
}

/// Throws Error if --merge is used with an option that the parts have already.
void run_merge(const TranslateCommand& command, const CLI::App& translate) {
  for (const CLI::Option* option : translate.get_options()) {
    const std::string name = option->get_name();
    const bool is_used = name == "--merge" || name == "--out" || option->get_positional();
    check(is_used || option->count() == 0,
          "translate: --merge and {} are set, needs one of them; the parts are translated already", name);
  }
  check(!command.output.empty(), "translate: --merge is set, needs --out, the text to write");
  check(std::ranges::count(command.inputs, "-") == 0,
        "translate: --merge is set and the input is standard input, needs files");
  check_output_file(command.output, input_paths(command), "translate");
  merge_shards({.inputs = command.inputs, .out = command.output, .shards = command.merge}, "translate");
}

void run_translate(TranslateCommand command, const CLI::App& translate) {
  if (command.merge > 0) return run_merge(command, translate);
  if (command.settings.models.empty()) throw CLI::RequiredError("--model");
  check_command(command);
  if (command.shard) {
    run_shards(std::move(command));
  } else if (command.is_html) {
    run_html(std::move(command));
  } else if (command.is_text) {
    run_text(std::move(command));
  } else {
    run_lines(std::move(command));
  }
}

}  // namespace

void make_translate_command(CLI::App& translate) {
  auto command = std::make_shared<TranslateCommand>();
  TranslatorOptions& options = command->settings.options;
  add_path(translate, "input", command->inputs,
           "the text to translate, plain or compressed; default: standard input; --shard takes several plain texts");
  add_path(translate, "--out", command->output, "the file to write; default: standard output");
  add_translator_options(translate, command->settings);
  translate.get_option("--model")->required(false);  // --merge needs none
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
  translate
      .add_option("--long-inputs", options.long_inputs,
                  "inputs above --max-input: split at sentence ends (split, default), or cut off (cut)")
      ->transform(one_of<LongInputs>());
  add_number(translate, "--max-line", &command->max_line,
             "the most bytes of an input line, whose rest is left out; default 0: a line above 64 MiB is an error",
             at_least(0).at_most(1 << 30));
  translate
      .add_option("--bad-text", command->bad_text,
                  "lines that are not UTF-8: an error (stop, default), or U+FFFD for each bad byte (replace)")
      ->transform(one_of<BadText>());
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
  translate
      .add_option("--line-breaks", command->text.line_breaks,
                  "line breaks of the text: a line break ends a sentence (end, default), or is a space as in wrapped "
                  "text, which an empty line or a list item ends (space)")
      ->transform(one_of<LineBreaks>())
      ->needs(text);
  CLI::Option* json = translate.add_flag("--json", command->format.is_json, "print one line of JSON for each sentence");
  translate
      .add_flag("--attention", command->format.has_attention,
                "add each output token's cross-attention weights to the JSON")
      ->needs(json);
  translate.add_option(
      "--shard", command->shard,
      "I/N: translate part I of N equal parts of the input, counted from 0, and write OUT.part-I-of-N and a record; "
      "any/N: all parts that no other process holds; a part that is complete stays, and one that was interrupted is "
      "continued");
  add_number(translate, "--merge", &command->merge,
             "check the N parts of --shard I/N, and join them to OUT; with the input, compare the parts with it, too",
             at_least(1).at_most(kMaxShards));
  translate.callback([command, &translate] { run_translate(*command, translate); });
}

void add_translate(CLI::App& program) {
  make_translate_command(*program.add_subcommand("translate", "Translate text, one sentence per line"));
}

}  // namespace edgewise
