// SPDX-License-Identifier: Apache-2.0
// edgewise generate --model RUN [--prompt TEXT]
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/generate/generator.h"
#include "edgewise/translate/text_lines.h"

namespace edgewise {
namespace {

struct GenerateCommand {
  std::filesystem::path model;
  std::string input = "-";
  std::optional<std::string> prompt;
  bool is_lines = false;
  bool is_json = false;
  bool has_prompt = false;
  GenerateOptions options;
  GeneratorOptions generator;
  int threads = 0;
};

/// Reads the whole input, without the line feed at its end, or each of its lines.
std::vector<std::string> read_prompts(const GenerateCommand& command) {
  if (command.prompt) return {*command.prompt};
  TextLines lines({.path = command.input,
                   .caller = "generate",
                   .line_ends = command.is_lines ? LineEnds::kRemove : LineEnds::kKeep});
  std::vector<std::string> prompts;
  if (!command.is_lines) prompts.emplace_back();
  while (auto line = lines.next()) {
    if (command.is_lines) {
      prompts.push_back(*std::move(line));
    } else {
      prompts.front() += *line;
    }
  }
  if (!command.is_lines && prompts.front().ends_with('\n')) prompts.front().pop_back();
  return prompts;
}

/// Prints continuations in the order of the prompts and samples: the first that is not complete as its parts come, the
/// others when their turn is there.
class ContinuationPrinter {
 public:
  ContinuationPrinter(const GenerateCommand& command, const std::vector<std::string>& prompts)
      : command_(command), prompts_(prompts) {}

  void put(const GeneratedPiece& piece) {
    const Place place = {piece.request, piece.sample};
    Printed& printed = waiting_[place];
    printed.text += piece.text;
    printed.tokens = piece.tokens;
    printed.end = piece.end;
    while (waiting_.contains(next_) && print(waiting_[next_])) {
      waiting_.erase(next_);
      next_ = next_.second + 1 < command_.options.samples ? Place(next_.first, next_.second + 1)
                                                          : Place(next_.first + 1, 0);
    }
  }

 private:
  using Place = std::pair<std::size_t, std::int64_t>;  // a prompt and a sample
  struct Printed {
    std::string text;
    std::int64_t tokens = 0;
    std::optional<FinishReason> end;
  };

  /// Prints what there is of a continuation, and returns whether it is complete.
  bool print(Printed& printed) {
    if (command_.is_json) return print_json(printed);
    std::string text;
    if (!is_begun_) {
      if (next_ != Place()) text += "---\n";
      if (command_.has_prompt) text += prompts_[next_.first];
    }
    is_begun_ = !printed.end;
    text += std::exchange(printed.text, {});
    if (!text.empty()) ends_line_ = text.ends_with('\n');
    if (printed.end && !ends_line_) text += '\n';
    write_output(text);
    require_output("generate");
    return printed.end.has_value();
  }

  bool print_json(const Printed& printed) {
    if (!printed.end) return false;
    JsonObject json;
    json.add("prompt", static_cast<std::int64_t>(next_.first));
    json.add("sample", next_.second);
    json.add("text", (command_.has_prompt ? prompts_[next_.first] : std::string()) + printed.text);
    json.add("tokens", printed.tokens);
    json.add("finish_reason", enum_name(*printed.end));
    write_output(json.text() + "\n");
    require_output("generate");
    return true;
  }

  const GenerateCommand& command_;
  const std::vector<std::string>& prompts_;
  Place next_ = {0, 0};
  std::map<Place, Printed> waiting_;
  bool is_begun_ = false;   // whether a part of continuation `next_` is printed
  bool ends_line_ = false;  // whether the last byte of the continuation is a line feed
};

void run_generate(const GenerateCommand& command) {
  check(!command.prompt || command.input == "-", "generate: --prompt is set and the input is {}, needs one of them",
        quote(command.input));
  check(!command.prompt || !command.is_lines, "generate: --prompt and --lines are set, needs one of them");
  use_threads(command.threads);
  check_generate_options(command.options, "generate");
  Generator generator(read_model_files(command.model, "generate"), command.generator);
  const std::vector<std::string> prompts = read_prompts(command);
  std::vector<GenerationRequest> requests;
  requests.reserve(prompts.size());
  for (const std::string& prompt : prompts) requests.push_back({prompt, command.options});
  ContinuationPrinter printer(command, prompts);
  generator.stream(requests, [&](const GeneratedPiece& piece) {
    printer.put(piece);
    return true;
  });
}

/// Adds an option for a field of GenerateOptions, with its range.
void add_field(CLI::App& generate, const std::string& name, FieldValue value, const std::string& help,
               std::string_view field) {
  add_number(generate, name, std::move(value), help, range_of<GenerateOptions>(field));
}

void add_sampling_options(CLI::App& generate, GenerateOptions& options) {
  add_field(generate, "--max-tokens", &options.max_tokens, "the most tokens of a continuation; default 256",
            "max_tokens");
  add_field(generate, "--temperature", &options.temperature,
            "the divisor of log-probabilities: below 1 favours likely tokens, 0 always takes the likeliest; default 1",
            "temperature");
  add_field(generate, "--top-k", &options.top_k, "the number of most likely tokens to draw from; default 0: all tokens",
            "top_k");
  add_field(generate, "--top-p", &options.top_p,
            "draw from the most likely tokens that together have this probability; default 1: all tokens", "top_p");
  add_field(generate, "--min-p", &options.min_p,
            "draw from the tokens that are at least so many times as likely as the likeliest; default 0: all tokens",
            "min_p");
  add_field(generate, "--repetition-penalty", &options.repetition_penalty,
            "the factor of the log-probability of tokens that the prompt or the continuation contains; default 1",
            "repetition_penalty");
  add_field(generate, "--samples", &options.samples,
            "the number of continuations of each prompt; several are separated by a line ---; default 1", "samples");
  add_field(generate, "--seed", &options.seed, "the seed of the random numbers; default 1", "seed");
  generate
      .add_option("--stop", options.stop, "a text that ends a continuation, which does not contain it; may be repeated")
      ->allow_extra_args(false);
  generate.add_flag("--ignore-end", options.ignore_end,
                    "never take the end token, so that a continuation has --max-tokens tokens");
}

}  // namespace

void add_generate(CLI::App& program) {
  auto command = std::make_shared<GenerateCommand>();
  CLI::App& generate = *program.add_subcommand("generate", "Continue a text with a language model");
  add_path(generate, "input", command->input,
           "a file with the prompt, plain or compressed, whose last line feed does not count; default: standard input");
  add_path(generate, "--model", command->model, "a run or model directory, or the name of a model")->required();
  generate.add_option("--prompt", command->prompt, "the prompt, in place of the input; it may be empty");
  generate.add_flag("--lines", command->is_lines, "each line of the input is a prompt");
  generate.add_flag("--json", command->is_json, "print one line of JSON for each continuation");
  generate.add_flag("--echo", command->has_prompt, "print the prompt before each continuation");
  add_sampling_options(generate, command->options);
  add_choice(generate, "--precision", command->generator.precision,
             "the number format of matrix products: fp32 (default), bf16 or int8");
  add_number(generate, "--batch", &command->generator.capacity,
             "the most continuations that are computed at a time; default 32", at_least(1).at_most(1e6));
  add_threads_option(generate, command->threads);
  generate.callback([command] { run_generate(*command); });
}

}  // namespace edgewise
