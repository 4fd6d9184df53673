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

constexpr std::string_view kTranslate = "translate";

/// Encodes a prefix of the text that is long enough for max_input tokens, so that a text of megabytes costs little.
Tokens encode_beginning(std::string_view text, const TextCodec& codec, bool& was_cut) {
  const std::string_view beginning = utf8_prefix(text, static_cast<std::size_t>(codec.max_input) * kMaxBytesPerToken);
  Tokens tokens = codec.vocabularies.input->encode(beginning);
  was_cut = beginning.size() < text.size() || std::ssize(tokens) > codec.max_input;
  if (std::ssize(tokens) > codec.max_input) tokens.resize(static_cast<std::size_t>(codec.max_input));
  return tokens;
}

/// The place of a part's tokens: in its input, between the tokens around them, and in the input tokens of the sentence.
struct PartTokens {
  std::size_t begin = 0;   // in the part
  std::size_t size = 0;    // without the tokens around them
  std::size_t offset = 0;  // in the sentence
};

PartTokens locate_tokens(const Tokens& part, const SentenceFrame& frame, std::size_t offset) {
  if (part.empty()) return {.offset = offset};
  const std::size_t begin = frame.before.size();
  return {begin, part.size() - begin - frame.after.size(), offset};
}

void append_texts(std::vector<std::string>& texts, std::span<const std::int64_t> tokens, const Vocabulary& vocabulary) {
  for (const std::int64_t token : tokens) texts.emplace_back(vocabulary.token_text(token));
}

/// Returns how many tokens of an output are its language, which was given.
std::size_t count_forced(const Hypothesis& hypothesis, const Tokens& forced) {
  const bool begins =
      hypothesis.tokens.size() >= forced.size() && std::equal(forced.begin(), forced.end(), hypothesis.tokens.begin());
  return begins ? forced.size() : 0;
}

/// Appends a row of weights for each output token from number `first`. A part's tokens attend only to its own input.
void append_attention(TranslatedText& text, const Hypothesis& hypothesis, std::size_t first, const PartTokens& input) {
  const std::size_t stride = hypothesis.attention.size() / (hypothesis.tokens.size() + 1);
  for (std::size_t token = first; token < hypothesis.tokens.size(); ++token) {
    const auto row = hypothesis.attention.begin() + static_cast<std::ptrdiff_t>(token * stride + input.begin);
    text.attention.push_back(
        {static_cast<std::int64_t>(input.offset), {row, row + static_cast<std::ptrdiff_t>(input.size)}});
  }
}

void append_alignment(TranslatedText& text, const Hypothesis& hypothesis, std::size_t first, const PartTokens& input,
                      std::int64_t output_offset) {
  const std::vector<std::int64_t> aligned = alignment(hypothesis);
  for (std::size_t i = first; i < aligned.size(); ++i) {
    const std::int64_t token = aligned[i] - static_cast<std::int64_t>(input.begin);
    if (token < 0 || token >= static_cast<std::int64_t>(input.size)) continue;  // a token around the input
    text.alignment.push_back(
        {token + static_cast<std::int64_t>(input.offset), output_offset + static_cast<std::int64_t>(i - first)});
  }
}

/// Appends the hypothesis of a part.
void append_part(TranslatedText& text, const Hypothesis& hypothesis, const Tokens& forced, const PartTokens& input,
                 const Vocabulary& vocabulary) {
  const std::size_t first = count_forced(hypothesis, forced);
  const auto tokens = std::span(hypothesis.tokens).subspan(first);
  const std::string part = vocabulary.decode(tokens);
  if (!text.text.empty() && !part.empty()) text.text += ' ';
  text.text += part;
  text.log_probability += hypothesis.log_probability;
  const auto output_offset = std::ssize(text.tokens);
  append_texts(text.tokens, tokens, vocabulary);
  text.token_numbers.insert(text.token_numbers.end(), tokens.begin(), tokens.end());
  if (!hypothesis.ponder_steps.empty()) {
    const auto steps = std::span(hypothesis.ponder_steps).subspan(first);
    text.ponder_steps.insert(text.ponder_steps.end(), steps.begin(), steps.end());
  }
  if (hypothesis.attention.empty()) return;
  append_attention(text, hypothesis, first, input);
  append_alignment(text, hypothesis, first, input, output_offset);
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

std::string name_prefix(const TranslationRequest& request) {
  return request.prefix_place.empty() ? "the prefix " + quote(request.prefix) : request.prefix_place;
}

PairLanguages choose_languages(const TranslationRequest& request, const TextCodec& codec) {
  const auto& [input, output] = request.languages;
  if (input.empty() && output.empty()) return codec.languages;
  check_sentence_options(*codec.vocabularies.input, *codec.vocabularies.output, codec.end_input, request.languages,
                         kTranslate);
  return {input.empty() ? codec.languages.input : input, output.empty() ? codec.languages.output : output};
}

void add_frame(Tokens& part, const SentenceFrame& frame) {
  if (part.empty()) return;
  part.insert(part.begin(), frame.before.begin(), frame.before.end());
  part.insert(part.end(), frame.after.begin(), frame.after.end());
}

void check_prefix(const TranslationRequest& request, const TokenizedSentence& sentence, std::int64_t max_input) {
  const std::int64_t tokens = std::ssize(sentence.prefix);
  if (max_input > 0 && tokens > max_input) {
    fail("translate: {} has {} tokens, needs at most {}; shorten the prefix or raise --max-input", name_prefix(request),
         tokens, max_input);
  }
  const std::int64_t most = kMaxPrefix - std::ssize(sentence.forced);
  if (tokens > most) fail("translate: {} has {} tokens, needs at most {}", name_prefix(request), tokens, most);
}

/// Checks that the model has a position for each token of a part of the input, and for the begin token and each token
/// of the prefix.
void check_positions(const TokenizedSentence& sentence, const TranslationRequest& request, std::int64_t max_positions) {
  if (max_positions == 0) return;
  for (const Tokens& part : sentence.parts) {
    if (std::ssize(part) <= max_positions) continue;
    fail("translate: the input {} has {} tokens, needs at most model.max_positions, which is {}; shorten the input",
         quote(request.input), part.size(), max_positions);
  }
  if (std::ssize(sentence.forced) + std::ssize(sentence.prefix) >= max_positions) {
    fail("translate: {} has {} tokens, needs fewer than model.max_positions, which is {}; shorten the prefix",
         name_prefix(request), sentence.prefix.size(), max_positions);
  }
}

}  // namespace

void TextCodec::limit_input(std::int64_t limit) {
  max_input = limit;
  if (max_positions == 0) return;
  const bool has_language = vocabularies.input->rules().language_place != LanguagePlace::kNone;
  const std::int64_t longest = std::max<std::int64_t>(max_positions - (end_input ? 1 : 0) - (has_language ? 1 : 0), 1);
  if (max_input == 0 || max_input > longest) max_input = longest;
}

std::int64_t TokenizedSentence::num_tokens() const {
  std::int64_t count = std::ssize(forced) + std::ssize(prefix);
  for (const Tokens& part : parts) count += std::ssize(part);
  return count;
}

TokenizedSentence TextCodec::encode(const TranslationRequest& request, LongInputs long_inputs) const {
  const Vocabulary& vocabulary = *vocabularies.input;
  const PairLanguages chosen = choose_languages(request, *this);
  FramedInput input = frame_input(vocabulary, request.input, end_input, chosen, kTranslate);

  TokenizedSentence sentence;
  if (max_input == 0) {
    sentence.parts = {vocabulary.encode(input.text)};
  } else if (long_inputs == LongInputs::kCut) {
    sentence.parts = {encode_beginning(input.text, *this, sentence.was_cut)};
  } else {
    sentence.parts = split_to_fit(input.text, vocabulary, max_input, SentenceSplitter(chosen.input));
  }
  if (sentence.parts.empty()) sentence.parts.emplace_back();
  sentence.frame = std::move(input.frame);
  for (Tokens& part : sentence.parts) add_frame(part, sentence.frame);
  sentence.forced = output_beginning(*vocabularies.output, chosen.output, kTranslate);
  if (!request.prefix.empty()) sentence.prefix = vocabularies.output->encode(request.prefix);
  check_prefix(request, sentence, max_input);
  check_positions(sentence, request, max_positions);
  return sentence;
}

Translation TextCodec::decode(const TokenizedSentence& sentence, std::span<const std::vector<Hypothesis>> results,
                              std::int64_t n_best) const {
  const std::vector<Combination> combinations = best_combinations(results, static_cast<std::size_t>(n_best));
  Translation translation;
  translation.was_cut = sentence.was_cut;
  translation.outputs.resize(combinations.size());
  for (std::size_t part = 0; part < results.size(); ++part) {
    const PartTokens input = locate_tokens(sentence.parts[part], sentence.frame, translation.input_tokens.size());
    append_texts(translation.input_tokens, std::span(sentence.parts[part]).subspan(input.begin, input.size),
                 *vocabularies.input);
    for (std::size_t i = 0; i < translation.outputs.size(); ++i) {
      const Hypothesis& hypothesis = results[part][combinations[i].hypotheses[part]];
      append_part(translation.outputs[i], hypothesis, sentence.forced, input, *vocabularies.output);
      translation.outputs[i].score += hypothesis.score / static_cast<double>(results.size());
    }
  }
  return translation;
}

}  // namespace edgewise
