// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/sentence_steps.h"

#include <fmt/format.h>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/memory.h"
#include "edgewise/data/batches.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/models/model_costs.h"

namespace edgewise {
namespace {

constexpr std::string_view kCountPonderSteps = "count_ponder_steps";

using Side = std::vector<TokenSteps> SentenceSteps::*;

/// Pairs the tokens' texts with the ponder steps of their nodes, which begin at `next`; moves `next` to their end.
std::vector<TokenSteps> pair_with_steps(const Vocabulary& vocabulary, std::span<const std::int64_t> tokens,
                                        std::vector<std::int64_t>::const_iterator& next) {
  std::vector<TokenSteps> paired;
  for (const std::int64_t token : tokens) paired.push_back({std::string(vocabulary.token_text(token)), *next++});
  return paired;
}

std::string side_json(const std::vector<TokenSteps>& tokens) {
  return json_array(tokens, [](const TokenSteps& token) {
    return JsonObject().add("text", token.text).add("steps", token.steps).text();
  });
}

/// Throws Error for a sentence that is longer than those of training, or too long for the memory.
void check_inputs(const TranslationModel& model, const std::vector<std::string>& inputs) {
  const std::int64_t max_length = model.experiment.data.max_length;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t tokens = std::ssize(encode_input(model, inputs[i], kCountPonderSteps).tokens);
    check(max_length == 0 || tokens <= max_length,
          "count_ponder_steps: sentence {} has {} tokens, needs at most {}, as in training", i + 1, tokens, max_length);
    BatchTokens size;
    size.add_pair(tokens, 0);
    require_memory(edge_memory(model.model->options(), size),
                   fmt::format("count_ponder_steps: sentence {} of {} tokens", i + 1, tokens),
                   "choose shorter sentences");
  }
}

struct TranslatedPairs {
  std::vector<TokenPair> pairs;
  std::vector<std::vector<std::int64_t>> output_steps;  // for each pair, those of the decoder nodes
};

/// Translates the inputs. Keeps the outputs as tokens, because encoding an output's text again may give other tokens.
TranslatedPairs translate_to_pairs(const TranslationModel& model, const std::vector<std::string>& inputs) {
  check_inputs(model, inputs);
  const std::vector<TranslatedText> outputs = translate(model, inputs);
  TranslatedPairs translated;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EncodedInput input = encode_input(model, inputs[i], kCountPonderSteps);
    if (input.tokens.empty()) continue;
    translated.pairs.push_back(pair_with_output(model, input, outputs[i].token_numbers, kCountPonderSteps));
    translated.output_steps.push_back(outputs[i].ponder_steps);
  }
  check(!translated.pairs.empty(), "count_ponder_steps: none of {} sentences has a token, needs at least one",
        inputs.size());
  return translated;
}

}  // namespace

std::vector<SentenceSteps> count_ponder_steps(const TranslationModel& model, const std::vector<std::string>& inputs) {
  const TranslatedPairs translated = translate_to_pairs(model, inputs);
  // A search gives no steps of a node before the language that each output begins with.
  const std::size_t num_skipped =
      output_beginning(*model.vocabularies.output, model.experiment.data.output_language, kCountPonderSteps).size();
  std::vector<SentenceSteps> sentences;
  for (const Batch& batch : batches_in_order(translated.pairs, model.experiment.batch)) {
    const NodePonderSteps steps = model.model->ponder_steps(batch);
    auto next_input = steps.encoder.begin();
    for (std::int64_t i = 0; i < batch.num_sentences(); ++i) {
      const TokenPair& pair = translated.pairs[sentences.size()];
      auto next_output = translated.output_steps[sentences.size()].begin();
      const auto decoder_inputs = std::span(pair.output).first(pair.output.size() - 1);
      sentences.push_back(
          {pair_with_steps(*model.vocabularies.input, pair.input, next_input),
           pair_with_steps(*model.vocabularies.output, decoder_inputs.subspan(num_skipped), next_output)});
    }
  }
  return sentences;
}

PonderHistogram ponder_histogram(const std::vector<SentenceSteps>& sentences, Side side) {
  PonderHistogram histogram;
  for (const SentenceSteps& sentence : sentences) {
    for (const TokenSteps& token : sentence.*side) ++histogram[token.steps];
  }
  return histogram;
}

std::string sentence_steps_json(const std::vector<SentenceSteps>& sentences) {
  const std::string list = json_array(sentences, [](const SentenceSteps& sentence) {
    return JsonObject()
        .add_json("input", side_json(sentence.input))
        .add_json("output", side_json(sentence.output))
        .text();
  });
  return JsonObject()
      .add_json("sentences", list)
      .add("input_steps", ponder_histogram(sentences, &SentenceSteps::input))
      .add("output_steps", ponder_histogram(sentences, &SentenceSteps::output))
      .text();
}

}  // namespace edgewise
