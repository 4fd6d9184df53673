// SPDX-License-Identifier: Apache-2.0
// edgewise perplexity --model DIR FILE…
#include <algorithm>
#include <cmath>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/experiment/language_task.h"
#include "edgewise/experiment/train.h"

namespace edgewise {
namespace {

constexpr const char* kPerplexity = "perplexity";

struct PerplexityCommand {
  std::string model;
  std::vector<std::string> files;
  std::int64_t context = 0;
  int threads = 0;
  bool is_json = false;
};

/// Returns the length of the windows, `context` tokens or by default batch.length, and the step between them, half of
/// the length. Throws Error for windows of more tokens than the model has learned positions.
CoverOptions choose_windows(const TranslationModel& model, std::int64_t context) {
  const std::int64_t length = context > 0 ? context : model.experiment.batch.length;
  const std::int64_t positions = model.model->options().num_learned_positions();
  check(positions == 0 || length <= positions, "{}: --context is {}, needs at most the {} positions of the model",
        kPerplexity, length, positions);
  return {.length = length, .step = std::max<std::int64_t>(length / 2, 1)};
}

void print_json(const Validation& validation, const EvaluationText& text, const CoverOptions& windows) {
  JsonObject json;
  json.add("loss", validation.loss).add("perplexity", std::exp(validation.loss));
  if (validation.bits_per_character) json.add("bits_per_character", *validation.bits_per_character);
  json.add("bits_per_byte", *validation.bits_per_byte).add("accuracy", validation.accuracy);
  json.add("tokens", text.count_tokens()).add("characters", text.characters).add("bytes", text.bytes);
  print_output("{}\n", json.add("context", windows.length).text());
}

void run_perplexity(const PerplexityCommand& command) {
  use_threads(command.threads);
  const TranslationModel model = load_model(command.model);
  const ModelKind kind = model.model->options().kind;
  check(!has_encoder(kind), "{}: {} is a {}, needs a language model; `edgewise score-pairs` scores translations",
        kPerplexity, command.model, model_name(kind));
  const CoverOptions windows = choose_windows(model, command.context);
  const Vocabulary& vocabulary = *model.vocabularies.output;
  const auto files = open_text(command.files, {.separator = model.experiment.data.document_separator,
                                               .is_bytes = vocabulary.kind() == VocabularyKind::kBytes,
                                               .caller = kPerplexity});
  const EvaluationText text = encode_evaluation_text(model.model->options(), *files, vocabulary, windows);
  const Validation validation = evaluate(model, text);
  if (command.is_json) return print_json(validation, text, windows);
  const std::string characters =
      validation.bits_per_character ? fmt::format(", {:.4f} bits per character", *validation.bits_per_character) : "";
  print_output("loss {:.4f}, perplexity {:.4f}{}, {:.4f} bits per byte\n", validation.loss, std::exp(validation.loss),
               characters, *validation.bits_per_byte);
  print_output("{} tokens with their ends of documents, {} bytes; context {}\n", text.count_tokens(), text.bytes,
               windows.length);
}

}  // namespace

void add_perplexity(CLI::App& program) {
  auto command = std::make_shared<PerplexityCommand>();
  CLI::App* perplexity = program.add_subcommand(
      "perplexity",
      "Measure a language model on texts: loss per token in nats, perplexity, bits per character and per byte. Each "
      "token, and the end of each document, counts once. A document of more tokens than --context is measured in "
      "windows of so many tokens, of which each begins in the middle of the one before; of all windows but the first, "
      "only the second half counts, so that each token has at least half of the context");
  add_path(*perplexity, "--model", command->model, "a run or model directory of a language model")->required();
  add_path(*perplexity, "files", command->files,
           "text files, plain or compressed, each a document unless data.document_separator of the model splits it; -: "
           "standard input")
      ->required();
  add_number(*perplexity, "--context", &command->context,
             "the most tokens of a window; default: batch.length of the training; at most model.max_positions with "
             "learned positions",
             at_least(1).at_most(1e6));
  add_threads_option(*perplexity, command->threads);
  perplexity->add_flag("--json", command->is_json, "print the result as one line of JSON");
  perplexity->callback([command] { run_perplexity(*command); });
}

}  // namespace edgewise
