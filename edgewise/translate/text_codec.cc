// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_codec.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/long_sentences.h"

namespace edgewise {
namespace {

/// Encodes a prefix of the text that is long enough for max_input tokens, so that a text of megabytes costs little.
Tokens encode_beginning(std::string_view text, const TextCodec& codec, bool& was_cut) {
  const std::string_view beginning = utf8_prefix(text, static_cast<std::size_t>(codec.max_input) * kMaxBytesPerToken);
  Tokens tokens = codec.vocabularies.input->encode(beginning);
  was_cut = beginning.size() < text.size() || std::ssize(tokens) > codec.max_input;
  if (std::ssize(tokens) > codec.max_input) tokens.resize(static_cast<std::size_t>(codec.max_input));
  return tokens;
}

std::vector<std::string> token_texts(const Tokens& tokens, std::size_t count, const Vocabulary& vocabulary) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.emplace_back(vocabulary.token_text(tokens[i]));
  return texts;
}

std::size_t size_without_end(const Tokens& input, const TextCodec& codec) {
  return input.empty() || !codec.end_input ? input.size() : input.size() - 1;
}

/// Appends a row of weights for each output token of a part, whose input tokens begin at `input_offset`. Omits the
/// weight of the input's end token.
void append_attention(TranslatedText& text, const Hypothesis& hypothesis, std::size_t num_inputs,
                      std::size_t input_offset) {
  const auto stride = static_cast<std::ptrdiff_t>(hypothesis.attention.size() / (hypothesis.tokens.size() + 1));
  auto row = hypothesis.attention.begin();
  for (std::size_t token = 0; token < hypothesis.tokens.size(); ++token, row += stride) {
    text.attention.push_back(
        {static_cast<std::int64_t>(input_offset), {row, row + static_cast<std::ptrdiff_t>(num_inputs)}});
  }
}

/// Appends the hypothesis of a part whose input tokens begin at `input_offset`.
void append_part(TranslatedText& text, const Hypothesis& hypothesis, std::size_t num_inputs, std::size_t input_offset,
                 const TextCodec& codec) {
  const Vocabulary& vocabulary = *codec.vocabularies.output;
  const std::string part = vocabulary.decode(hypothesis.tokens);
  if (!text.text.empty() && !part.empty()) text.text += ' ';
  text.text += part;
  text.log_probability += hypothesis.log_probability;
  const auto output_offset = std::ssize(text.tokens);
  for (std::string& token : token_texts(hypothesis.tokens, hypothesis.tokens.size(), vocabulary)) {
    text.tokens.push_back(std::move(token));
  }
  text.token_numbers.insert(text.token_numbers.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
  text.ponder_steps.insert(text.ponder_steps.end(), hypothesis.ponder_steps.begin(), hypothesis.ponder_steps.end());
  if (hypothesis.attention.empty()) return;
  append_attention(text, hypothesis, num_inputs, input_offset);
  const std::vector<std::int64_t> aligned = alignment(hypothesis);
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] >= static_cast<std::int64_t>(num_inputs)) continue;  // the end token
    text.alignment.push_back(
        {aligned[i] + static_cast<std::int64_t>(input_offset), output_offset + static_cast<std::int64_t>(i)});
  }
}

/// A hypothesis of each of the first parts: indices into their lists.
struct Combination {
  double score = 0.0;  // sum over the parts
  std::vector<std::size_t> hypotheses = {};
};

/// Extends combinations by a hypothesis of the next part, and returns the `n_best` with the highest scores. All lists
/// are sorted, best first.
std::vector<Combination> extend(const std::vector<Combination>& combinations, const std::vector<Hypothesis>& part,
                                std::size_t n_best) {
  struct Extension {
    double score;
    std::size_t combination;
    std::size_t hypothesis;

    bool operator<(const Extension& other) const {  // among equals, the earlier is better
      return std::tie(score, other.combination, other.hypothesis) < std::tie(other.score, combination, hypothesis);
    }
  };
  std::priority_queue<Extension> best;  // the next hypothesis for each combination
  const auto add = [&](std::size_t combination, std::size_t hypothesis) {
    if (hypothesis == part.size()) return;
    best.push({combinations[combination].score + part[hypothesis].score, combination, hypothesis});
  };
  for (std::size_t i = 0; i < combinations.size(); ++i) add(i, 0);

  std::vector<Combination> extended;
  while (!best.empty() && extended.size() < n_best) {
    const auto [score, combination, hypothesis] = best.top();
    best.pop();
    extended.push_back({score, combinations[combination].hypotheses});
    extended.back().hypotheses.push_back(hypothesis);
    add(combination, hypothesis + 1);
  }
  return extended;
}

std::vector<Combination> best_combinations(std::span<const std::vector<Hypothesis>> results, std::size_t n_best) {
  std::vector<Combination> combinations(1);
  for (const std::vector<Hypothesis>& part : results) combinations = extend(combinations, part, n_best);
  return combinations;
}

void check_prefix(const TranslationRequest& request, std::int64_t tokens, std::int64_t max_input) {
  const auto name = [&request] {
    return request.prefix_place.empty() ? "the prefix " + quote(request.prefix) : request.prefix_place;
  };
  if (max_input > 0 && tokens > max_input) {
    fail("translate: {} has {} tokens, needs at most {}; shorten the prefix or raise --max-input", name(), tokens,
         max_input);
  }
  if (tokens > kMaxPrefix) fail("translate: {} has {} tokens, needs at most {}", name(), tokens, kMaxPrefix);
}

}  // namespace

std::int64_t TokenizedSentence::num_tokens() const {
  std::int64_t count = std::ssize(prefix);
  for (const Tokens& part : parts) count += std::ssize(part);
  return count;
}

TokenizedSentence TextCodec::encode(const TranslationRequest& request, LongInputs long_inputs) const {
  TokenizedSentence sentence;
  const Vocabulary& vocabulary = *vocabularies.input;
  if (max_input == 0) {
    sentence.parts = {vocabulary.encode(request.input)};
  } else if (long_inputs == LongInputs::kCut) {
    sentence.parts = {encode_beginning(request.input, *this, sentence.was_cut)};
  } else {
    sentence.parts = split_to_fit(request.input, vocabulary, max_input);
  }
  if (sentence.parts.empty()) sentence.parts.emplace_back();
  for (Tokens& part : sentence.parts) {
    if (end_input && !part.empty()) part.push_back(kEndToken);
  }
  if (!request.prefix.empty()) sentence.prefix = vocabularies.output->encode(request.prefix);
  check_prefix(request, std::ssize(sentence.prefix), max_input);
  return sentence;
}

Translation TextCodec::decode(const TokenizedSentence& sentence, std::span<const std::vector<Hypothesis>> results,
                              std::int64_t n_best) const {
  const std::vector<Combination> combinations = best_combinations(results, static_cast<std::size_t>(n_best));
  Translation translation;
  translation.was_cut = sentence.was_cut;
  translation.outputs.resize(combinations.size());
  for (std::size_t part = 0; part < results.size(); ++part) {
    const Tokens& input = sentence.parts[part];
    const std::size_t num_inputs = size_without_end(input, *this);
    const std::size_t input_offset = translation.input_tokens.size();
    for (std::string& token : token_texts(input, num_inputs, *vocabularies.input)) {
      translation.input_tokens.push_back(std::move(token));
    }
    for (std::size_t i = 0; i < translation.outputs.size(); ++i) {
      const Hypothesis& hypothesis = results[part][combinations[i].hypotheses[part]];
      append_part(translation.outputs[i], hypothesis, num_inputs, input_offset, *this);
      translation.outputs[i].score += hypothesis.score / static_cast<double>(results.size());
    }
  }
  return translation;
}

}  // namespace edgewise
