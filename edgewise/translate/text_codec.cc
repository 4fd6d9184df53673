// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_codec.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/search/search.h"
#include "edgewise/text/vocabulary/token_ranges.h"
#include "edgewise/translate/fitted_text.h"
#include "edgewise/translate/translated_part.h"

namespace edgewise {
namespace {

constexpr std::string_view kTranslate = "translate";

std::vector<std::string> texts_of(const Tokens& tokens, const Vocabulary& vocabulary) {
  std::vector<std::string> texts;
  for (const std::int64_t token : tokens) texts.emplace_back(vocabulary.token_text(token));
  return texts;
}

/// Encodes a prefix of the text that is long enough for max_input tokens, so that a text of megabytes costs little.
FittingPart encode_beginning(std::string_view text, const TextCodec& codec, bool& was_cut) {
  const Vocabulary& vocabulary = *codec.vocabularies.input;
  const std::string_view beginning = utf8_prefix(text, static_cast<std::size_t>(codec.max_input) * kMaxBytesPerToken);
  FittingPart part = {vocabulary.encode(beginning), {0, beginning.size()}};
  was_cut = beginning.size() < text.size() || std::ssize(part.tokens) > codec.max_input;
  if (std::ssize(part.tokens) > codec.max_input) {
    part.tokens.resize(static_cast<std::size_t>(codec.max_input));
    part.bytes.end = find_token_ranges(beginning, texts_of(part.tokens, vocabulary)).back().end;
  }
  return part;
}

std::vector<FittingPart> encode_parts(std::string_view text, const TextCodec& codec, LongInputs long_inputs,
                                      const SentenceSplitter& splitter, bool& was_cut) {
  if (codec.max_input == 0) return {{codec.vocabularies.input->encode(text), {0, text.size()}}};
  if (long_inputs == LongInputs::kCut) return {encode_beginning(text, codec, was_cut)};
  return split_to_fit(text, *codec.vocabularies.input, codec.max_input, splitter);
}

/// Changes the case of a text in capitals, and returns whether it does.
bool change_capitals(std::string& text, const Vocabulary& vocabulary) {
  // An imported model translates as in its own system.
  if (vocabulary.kind() == VocabularyKind::kMapped) return false;
  std::optional<std::string> changed = without_capitals(text, vocabulary);
  if (changed) text = std::move(*changed);
  return changed.has_value();
}

/// Divides the protected spans among the parts, which have no tokens around them yet. `bytes` has the place of each
/// part in the prepared text.
void divide_spans(TokenizedSentence& sentence, std::string_view text, const std::vector<ByteRange>& bytes,
                  const TextCodec& codec) {
  if (sentence.spans.empty()) return;
  for (std::size_t i = 0; i < sentence.parts.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : bytes[i].begin;
    const bool is_last = i + 1 == sentence.parts.size();
    const std::size_t end = !is_last ? bytes[i + 1].begin : sentence.was_cut ? bytes[i].end : text.size();
    SentencePart& part = sentence.parts[i];
    part.placed =
        find_spans_of_part(sentence.spans, text.substr(begin, end - begin), begin,
                           texts_of(part.input.tokens, *codec.vocabularies.input), is_last && !sentence.was_cut);
    part.input.attention = !part.placed.empty();
    for (const PlacedSpan& placed : part.placed) {
      const auto placeholder = sentence.spans[placed.span].placeholder;
      if (placeholder) part.input.once.push_back(codec.placeholders.output[*placeholder]);
    }
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

std::vector<Combination> best_combinations(const std::vector<SentencePart>& parts, std::size_t n_best) {
  std::vector<Combination> combinations(1);
  for (const SentencePart& part : parts) combinations = extend(combinations, part.hypotheses, n_best);
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

void check_prefix(const TranslationRequest& request, const SearchInput& input, std::int64_t max_input) {
  const std::int64_t tokens = std::ssize(input.prefix);
  if (max_input > 0 && tokens > max_input) {
    fail("translate: {} has {} tokens, needs at most {}; shorten the prefix or raise --max-input", name_prefix(request),
         tokens, max_input);
  }
  const std::int64_t most = kMaxPrefix - std::ssize(input.forced);
  if (tokens > most) fail("translate: {} has {} tokens, needs at most {}", name_prefix(request), tokens, most);
}

/// Checks that the model has a position for each token of a part of the input, and for the begin token and each token
/// of the prefix.
void check_positions(const TokenizedSentence& sentence, const TranslationRequest& request, std::int64_t max_positions) {
  if (max_positions == 0) return;
  for (const SentencePart& part : sentence.parts) {
    if (std::ssize(part.input.tokens) <= max_positions) continue;
    fail("translate: the input {} has {} tokens, needs at most model.max_positions, which is {}; shorten the input",
         quote(request.input), part.input.tokens.size(), max_positions);
  }
  const auto& [forced, prefix] = std::tie(sentence.parts.front().input.forced, sentence.parts.front().input.prefix);
  if (std::ssize(forced) + std::ssize(prefix) >= max_positions) {
    fail("translate: {} has {} tokens, needs fewer than model.max_positions, which is {}; shorten the prefix",
         name_prefix(request), prefix.size(), max_positions);
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
  std::int64_t count = std::ssize(parts.front().input.forced) + std::ssize(parts.front().input.prefix);
  for (const SentencePart& part : parts) count += std::ssize(part.input.tokens);
  return count;
}

TokenizedSentence TextCodec::encode(const TranslationRequest& request, LongInputs long_inputs) const {
  const PairLanguages chosen = choose_languages(request, *this);
  FramedInput input = frame_input(*vocabularies.input, request.input, end_input, chosen, kTranslate);
  TokenizedSentence sentence;
  const bool protects = is_protecting && request.prefix.empty() && !find_bad_utf8(input.text);
  std::string prepared;
  if (protects) {
    prepared = prepare_text(input.text, placeholders.input.size(), known, sentence.spans);
    sentence.is_in_capitals = change_capitals(prepared, *vocabularies.input);
    input.text = prepared;
  }
  std::vector<ByteRange> bytes;
  for (FittingPart& part :
       encode_parts(input.text, *this, long_inputs, SentenceSplitter(chosen.input), sentence.was_cut)) {
    sentence.parts.push_back({{.tokens = std::move(part.tokens)}});
    bytes.push_back(part.bytes);
  }
  if (sentence.parts.empty()) sentence.parts.emplace_back();
  divide_spans(sentence, prepared, bytes, *this);
  sentence.frame = std::move(input.frame);
  const Tokens forced = output_beginning(*vocabularies.output, chosen.output, kTranslate);
  for (SentencePart& part : sentence.parts) {
    add_frame(part.input.tokens, sentence.frame);
    part.input.forced = forced;
  }
  SearchInput& first = sentence.parts.front().input;
  if (!request.prefix.empty()) first.prefix = vocabularies.output->encode(request.prefix);
  check_prefix(request, first, max_input);
  check_positions(sentence, request, max_positions);
  return sentence;
}

Translation TextCodec::decode(const TokenizedSentence& sentence, std::int64_t n_best) const {
  const std::vector<Combination> combinations = best_combinations(sentence.parts, static_cast<std::size_t>(n_best));
  const bool is_in_capitals = sentence.is_in_capitals && vocabularies.output->case_kind() != CaseKind::kLower;
  const SentencePartDecoder decoder = {
      {*vocabularies.output, is_in_capitals}, sentence.parts.front().input.forced, sentence.spans, has_alignments};
  Translation translation;
  translation.was_cut = sentence.was_cut;
  translation.outputs.resize(combinations.size());
  for (std::size_t i = 0; i < sentence.parts.size(); ++i) {
    const SentencePart& part = sentence.parts[i];
    const std::span framed = part.input.tokens;
    const std::size_t begin = framed.empty() ? 0 : sentence.frame.before.size();
    const std::size_t size = framed.empty() ? 0 : framed.size() - begin - sentence.frame.after.size();
    SentencePartTokens input = append_part_tokens(translation.input_tokens, framed.subspan(begin, size), part.placed,
                                                  sentence.spans, {*vocabularies.input, sentence.is_in_capitals});
    input.begin = begin;
    for (std::size_t rank = 0; rank < translation.outputs.size(); ++rank) {
      const Hypothesis& hypothesis = part.hypotheses[combinations[rank].hypotheses[i]];
      decoder.append(translation.outputs[rank], hypothesis, input, part.placed);
      translation.outputs[rank].score += hypothesis.score / static_cast<double>(sentence.parts.size());
    }
  }
  return translation;
}

}  // namespace edgewise
