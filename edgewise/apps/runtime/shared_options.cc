// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/shared_options.h"

#include <type_traits>
#include <utility>

#include "edgewise/base/config/field_text.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

/// Sets a number to the value of a text; returns whether the text is a number in the range.
struct SetNumber {
  const Range& range;
  std::string_view text;

  template <class Number>
  bool operator()(Number* number) const {
    if constexpr (std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) {
      return parse_number(text, range, *number);
    } else {
      fail("add_number: the option takes no number, needs one");
    }
  }
  template <class Number>
  bool operator()(std::optional<Number>* number) const {
    return (*this)(&number->emplace());
  }
  bool operator()(std::vector<std::int64_t>* list) const { return (*this)(&list->emplace_back()); }
  bool operator()(const EnumValue&) const { fail("add_number: the option takes a name, needs a number"); }
  bool operator()(const Section&) const { fail("add_number: the option takes a section, needs a number"); }
};

/// Describes the numbers that an option takes. For an optional it leaves out "none", which only a config can say.
std::string describe_numbers(FieldValue value, const Range& range) {
  if (std::holds_alternative<std::optional<std::int64_t>*>(value)) value = static_cast<std::int64_t*>(nullptr);
  if (std::holds_alternative<std::optional<double>*>(value)) value = static_cast<double*>(nullptr);
  return requirement_text(Field{"", "", range, std::move(value)});
}

void add_language(CLI::App& command, const std::string& name, std::string& language, const std::string& help) {
  command.add_option(name, language, help)->check([&command, name](const std::string& text) {
    check(!text.empty(), "{}: {} is empty, needs the name of a language", full_name(command), name);
    return std::string();
  });
}

/// Splits texts like CLI11 does, but keeps empty elements, so that they are errors.
std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> elements;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    for (std::size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
      comma = text.find(',', begin);
      elements.push_back(text.substr(begin, comma - begin));
    }
  }
  return elements;
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

CLI::Option* add_number(CLI::App& command, const std::string& names, FieldValue value, const std::string& help,
                        const Range& range) {
  const bool is_list = std::holds_alternative<std::vector<std::int64_t>*>(value);
  const std::string needed = describe_numbers(value, range);
  const auto set = [&command, names, value = std::move(value), needed, range,
                    is_list](const std::vector<std::string>& texts) {
    if (const auto* list = std::get_if<std::vector<std::int64_t>*>(&value)) (*list)->clear();
    for (const std::string& text : is_list ? split_at_commas(texts) : texts) {
      check(std::visit(SetNumber{range, text}, value), "{}: {} is {}, needs {}", full_name(command), names,
            quote_unless_plain(text), needed);
    }
  };
  const std::string described = fmt::format("{}; {}", help, needed);
  CLI::Option* option = command.add_option_function<std::vector<std::string>>(names, set, described);
  option->type_name("NUMBER")->allow_extra_args(false);  // a positional argument may follow
  return is_list ? option : option->expected(1);
}

void add_overwrite_option(CLI::App& command, Overwrite& overwrite) {
  command.add_flag_callback(
      "--overwrite", [&overwrite] { overwrite = Overwrite::kYes; },
      "replace the directory of --out if it exists and a command of Edgewise wrote it");
}

void add_threads_option(CLI::App& command, int& threads) {
  add_number(command, "--threads", &threads,
             "the number of threads; default 0: OMP_NUM_THREADS, or the number of available cores",
             at_least(0).at_most(1024));
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device,
                     "where to compute: cpu (default); cuda, the first GPU; cuda:N, the GPU number N; or auto, a GPU "
                     "if one can be used");
}

void use_threads(int threads) { set_num_threads(threads > 0 ? threads : default_num_threads()); }

void require_one_standard_input(std::string_view caller, const NamedPath& first, const NamedPath& second) {
  check(first.path != "-" || second.path != "-",
        "{}: {} and {} are both -, needs a file for one of them, because standard input is read once", caller,
        first.name, second.name);
}

void require_alignments(std::string_view caller, const TranslatorOptions& options, bool is_aligned,
                        std::string_view needs) {
  const auto check_option = [&](std::string_view name, const std::optional<std::int64_t>& value) {
    check(!value || is_aligned, "{}: {} is {}, needs {}", caller, name, value.value_or(0), needs);
  };
  check_option("--attention-layer", options.attention_layer);
  check_option("--attention-head", options.attention_head);
}

void add_settings_option(CLI::App& command, std::vector<std::string>& settings) {
  command.add_option("--set", settings, "section.key=value, replaces a value of the config; may be repeated")
      ->allow_extra_args(false);
}

void add_translator_options(CLI::App& command, TranslatorSettings& settings) {
  TranslatorOptions& options = settings.options;
  add_path(command, "--model", settings.models,
           "a run or model directory, or the name of a model such as en-de; several --model options with equal "
           "vocabularies form an ensemble")
      ->allow_extra_args(false)
      ->required();
  add_device_option(command, options.device);
  add_choice(command, "--precision", options.precision,
             "the number format of matrix products: fp32 (default), bf16 or int8");
  add_number(command, "--decoder-layers", &options.depth.layers,
             "the number of first decoder layers to translate with, at whose end the model has an exit; default: all",
             range_of<TranslatorOptions>("decoder_layers"));
  add_number(command, "--exit-threshold", &options.depth.exit_threshold,
             "the threshold of halting at exits; 1: no token halts; default: the model's config",
             range_of<TranslatorOptions>("exit_threshold"));
  add_language(
      command, "--from", options.languages.input,
      "a multilingual model's name of the language of the inputs, such as eng_Latn; default: the model's config");
  add_language(command, "--to", options.languages.output,
               "a multilingual model's name of the language of the outputs, such as fra_Latn; default: the model's "
               "config");
  add_number(command, "--batch-sentences", &options.capacity.sentences,
             "the most sentences that a worker translates at a time; default 32",
             range_of<TranslatorOptions>("batch_sentences"));
  add_number(command, "--batch-tokens", &options.capacity.tokens,
             "the most input tokens that a worker translates at a time; default 0: no limit",
             range_of<TranslatorOptions>("batch_tokens"));
  add_number(command, "--workers", &options.workers,
             "the number of searches that run in parallel and share the threads; default 1",
             range_of<TranslatorOptions>("workers"));
  add_number(command, "--attention-layer", &options.attention_layer,
             "the decoder layer whose cross-attention gives the alignments, from 0; -1: the last layer; default: the "
             "model's config",
             range_of<SearchOptions>("attention_layer"));
  add_number(command, "--attention-head", &options.attention_head,
             "the head of --attention-layer, from 0; -1: the mean of all heads; default: the model's config",
             range_of<SearchOptions>("attention_head"));
  add_threads_option(command, settings.threads);
}

}  // namespace edgewise
