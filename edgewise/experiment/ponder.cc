// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/ponder.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/experiment/translation_task.h"
#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/data/batches.h"
#include "edgewise/data/encode.h"

namespace edgewise {
namespace {

using Side = std::vector<PonderedToken> PonderedSentence::*;

constexpr std::int64_t kBarWidth = 40;

/// The texts of some tokens with their nodes' steps, which `next` goes through.
std::vector<PonderedToken> tokens_of(const Vocabulary& vocabulary, std::span<const std::int64_t> tokens,
                                     std::vector<std::int64_t>::const_iterator& next) {
  std::vector<PonderedToken> found;
  for (const std::int64_t token : tokens) found.push_back({std::string(vocabulary.token_text(token)), *next++});
  return found;
}

void print_side(const char* name, const std::vector<PonderedToken>& tokens) {
  std::string texts;
  std::string steps;
  for (const PonderedToken& token : tokens) {
    const std::string number = std::to_string(token.steps);
    const std::size_t width = std::max(count_code_points(token.text), number.size()) + 1;
    texts += token.text + std::string(width - count_code_points(token.text), ' ');
    steps += number + std::string(width - number.size(), ' ');
  }
  fmt::print("{:<7} {}\n{:<7} {}\n", name, texts, "", steps);
}

void print_histogram(const char* name, const StepHistogram& histogram) {
  std::int64_t total = 0;
  std::int64_t steps = 0;
  std::int64_t most = 1;
  for (const auto& [step, count] : histogram) {
    total += count;
    steps += step * count;
    most = std::max(most, count);
  }
  fmt::print("{}: {:.2f} steps a token\n", name, static_cast<double>(steps) / static_cast<double>(total));
  for (const auto& [step, count] : histogram) {
    fmt::print("{:>4} {:>8} {}\n", step, count, std::string(static_cast<std::size_t>(count * kBarWidth / most), '#'));
  }
}

std::string side_json(const std::vector<PonderedToken>& tokens) {
  std::string list;
  for (const PonderedToken& token : tokens) {
    list += (list.empty() ? "" : ", ") + JsonObject().add("text", token.text).add("steps", token.steps).text();
  }
  return "[" + list + "]";
}

std::string histogram_json(const StepHistogram& histogram) {
  JsonObject json;
  for (const auto& [step, count] : histogram) json.add(std::to_string(step), count);
  return json.text();
}

/// Inputs with what the model over libtorch makes of them: token by token, since the text of an output may well be
/// split into others.
std::vector<TokenPair> translated(const TranslationModel& model, const std::vector<std::string>& inputs) {
  const std::vector<Translation> translations = best_translations(
      model, [&model] { return model.model->scorer(); }, /*workers=*/1, inputs);
  const EncodeOptions encoding = encode_options(model.experiment.data);
  std::vector<TokenPair> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<std::int64_t> input = model.vocabularies.input->encode(inputs[i]);
    if (input.empty()) continue;
    pairs.push_back(with_special_tokens(std::move(input), translations[i].outputs.front().token_numbers, encoding));
  }
  check(!pairs.empty(), "ponder: none of {} sentences has a token, needs at least one", inputs.size());
  return pairs;
}

}  // namespace

std::vector<PonderedSentence> ponder(const TranslationModel& model, const std::vector<std::string>& inputs) {
  const std::vector<TokenPair> pairs = translated(model, inputs);
  std::vector<PonderedSentence> sentences;
  auto pair = pairs.begin();
  GraphPool pool;
  for (const Batch& batch : batches_in_order(pool, pairs, model.experiment.batch)) {
    const NodeSteps steps = model.model->steps(batch);
    auto next_input = steps.encoder.begin();
    auto next_output = steps.decoder.begin();
    for (std::int64_t i = 0; i < batch.num_sentences(); ++i, ++pair) {
      const std::span<const std::int64_t> output(pair->output);
      sentences.push_back({tokens_of(*model.vocabularies.input, pair->input, next_input),
                           tokens_of(*model.vocabularies.output, output.first(output.size() - 1), next_output)});
    }
  }
  return sentences;
}

StepHistogram step_histogram(const std::vector<PonderedSentence>& sentences, Side side) {
  StepHistogram histogram;
  for (const PonderedSentence& sentence : sentences) {
    for (const PonderedToken& token : sentence.*side) ++histogram[token.steps];
  }
  return histogram;
}

void print_ponder(const std::vector<PonderedSentence>& sentences) {
  for (const PonderedSentence& sentence : sentences) {
    print_side("input", sentence.input);
    print_side("output", sentence.output);
    fmt::print("\n");
  }
  print_histogram("inputs", step_histogram(sentences, &PonderedSentence::input));
  print_histogram("outputs", step_histogram(sentences, &PonderedSentence::output));
}

std::string ponder_json(const std::vector<PonderedSentence>& sentences) {
  std::string list;
  for (const PonderedSentence& sentence : sentences) {
    list +=
        (list.empty() ? "" : ", ") +
        JsonObject().add_json("input", side_json(sentence.input)).add_json("output", side_json(sentence.output)).text();
  }
  return JsonObject()
      .add_json("sentences", "[" + list + "]")
      .add_json("input_steps", histogram_json(step_histogram(sentences, &PonderedSentence::input)))
      .add_json("output_steps", histogram_json(step_histogram(sentences, &PonderedSentence::output)))
      .text();
}

}  // namespace edgewise
