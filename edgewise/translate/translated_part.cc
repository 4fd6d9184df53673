// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translated_part.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/token_ranges.h"

namespace edgewise {
namespace {

/// Returns how many tokens of an output are its language, which was given.
std::size_t count_forced(const Hypothesis& hypothesis, std::span<const std::int64_t> forced) {
  const bool begins =
      hypothesis.tokens.size() >= forced.size() && std::equal(forced.begin(), forced.end(), hypothesis.tokens.begin());
  return begins ? forced.size() : 0;
}

/// The output of a part, without forced tokens.
class SentencePartOutput {
 public:
  SentencePartOutput(const Hypothesis& hypothesis, std::size_t first, const SentencePartTokens& input)
      : hypothesis_(hypothesis), first_(first), input_(input) {
    if (!hypothesis.attention.empty()) aligned_ = alignment(hypothesis);
  }

  std::span<const std::int64_t> tokens() const { return std::span(hypothesis_.tokens).subspan(first_); }
  bool has_attention() const { return !aligned_.empty(); }

  /// Returns the token of the part, from 0, to which an output token is aligned; nothing for a token around the part.
  std::optional<std::size_t> aligned(std::size_t token) const {
    if (aligned_.empty()) return std::nullopt;
    const auto input = static_cast<std::size_t>(aligned_[first_ + token]);
    if (input < input_.begin || input >= input_.begin + input_.tokens.size()) return std::nullopt;
    return input - input_.begin;
  }

  /// Returns an output token's weights of all tokens and spans of the part; those of spans without a token are 0.
  AttentionRow attention(std::size_t token) const {
    const std::size_t stride = hypothesis_.attention.size() / (hypothesis_.tokens.size() + 1);
    AttentionRow row = {static_cast<std::int64_t>(input_.first), std::vector<float>(input_.count)};
    for (std::size_t i = 0; i < input_.tokens.size(); ++i) {
      row.weights[input_.tokens[i] - input_.first] =
          hypothesis_.attention[(first_ + token) * stride + input_.begin + i];
    }
    return row;
  }

 private:
  const Hypothesis& hypothesis_;
  std::size_t first_;
  const SentencePartTokens& input_;
  std::vector<std::int64_t> aligned_;  // input tokens
};

RestoredText restore(const SentencePartOutput& output, const TokenTexts& token_texts,
                     std::span<const PlacedSpan> placed, std::span<const TakenSpan> spans,
                     const SentencePartTokens& input) {
  if (placed.empty()) {
    RestoredText plain = {.text = token_texts.decode(output.tokens()), .items = {}};
    for (std::size_t i = 0; i < output.tokens().size(); ++i) plain.items.push_back({.is_span = false, .index = i});
    return plain;
  }
  AlignedTranslation translation = {.text = token_texts.decode(output.tokens())};
  std::vector<std::string> texts;
  for (const std::int64_t token : output.tokens()) texts.push_back(token_texts.text(token));
  translation.output_tokens = find_token_ranges(translation.text, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto token = output.aligned(i);
    if (token) translation.alignment.push_back({static_cast<std::int64_t>(*token), static_cast<std::int64_t>(i)});
  }
  return restore_spans(translation, placed, spans, input.tokens.size());
}

void append_span(TranslatedText& text, const TakenSpan& span, std::size_t number, const SentencePartTokens& input,
                 const SentencePartDecoder& decoder) {
  text.tokens.push_back(span.bytes);
  text.token_numbers.push_back(decoder.token_texts.vocabulary.special().unknown);
  if (!decoder.has_alignments) return;
  AttentionRow row = {static_cast<std::int64_t>(input.first), std::vector<float>(input.count)};
  row.weights[number - input.first] = 1;
  text.attention.push_back(std::move(row));
  text.alignment.push_back({static_cast<std::int64_t>(number), std::ssize(text.tokens) - 1});
}

void append_token(TranslatedText& text, const SentencePartOutput& output, std::size_t token,
                  const SentencePartTokens& input, const SentencePartDecoder& decoder) {
  const std::int64_t number = output.tokens()[token];
  text.tokens.push_back(decoder.token_texts.text(number));
  text.token_numbers.push_back(number);
  if (!decoder.has_alignments || !output.has_attention()) return;
  text.attention.push_back(output.attention(token));
  if (const auto aligned = output.aligned(token)) {
    text.alignment.push_back({static_cast<std::int64_t>(input.tokens[*aligned]), std::ssize(text.tokens) - 1});
  }
}

}  // namespace

std::string TokenTexts::text(std::int64_t token) const {
  const std::string_view text = vocabulary.token_text(token);
  return is_in_capitals ? upper_case(text) : std::string(text);
}

std::string TokenTexts::decode(std::span<const std::int64_t> tokens) const {
  const std::string text = vocabulary.decode(tokens);
  return is_in_capitals ? upper_case(text) : text;
}

SentencePartTokens append_part_tokens(std::vector<std::string>& texts, std::span<const std::int64_t> tokens,
                                      std::span<const PlacedSpan> placed, std::span<const TakenSpan> spans,
                                      const TokenTexts& token_texts) {
  SentencePartTokens input = {.first = texts.size()};
  auto next = placed.begin();
  for (std::size_t token = 0; token <= tokens.size(); ++token) {
    bool is_placeholder = false;
    for (; next != placed.end() && next->token == token; ++next) {
      const TakenSpan& span = spans[next->span];
      input.spans.push_back(texts.size());
      if (span.placeholder && token < tokens.size()) {
        is_placeholder = true;
        input.tokens.push_back(texts.size());
      }
      texts.push_back(span.bytes);
    }
    if (token == tokens.size() || is_placeholder) continue;
    input.tokens.push_back(texts.size());
    texts.push_back(token_texts.text(tokens[token]));
  }
  input.count = texts.size() - input.first;
  return input;
}

void SentencePartDecoder::append(TranslatedText& text, const Hypothesis& hypothesis, const SentencePartTokens& input,
                                 std::span<const PlacedSpan> placed) const {
  const std::size_t first = count_forced(hypothesis, forced);
  const SentencePartOutput output(hypothesis, first, input);
  const RestoredText restored = restore(output, token_texts, placed, spans, input);
  if (!text.text.empty() && !restored.text.empty()) text.text += ' ';
  text.text += restored.text;
  text.log_probability += hypothesis.log_probability;
  const auto steps = std::span(hypothesis.ponder_steps).subspan(hypothesis.ponder_steps.empty() ? 0 : first);
  for (const auto& [is_span, index] : restored.items) {
    if (is_span) {
      append_span(text, spans[placed[index].span], input.spans[index], input, *this);
    } else {
      append_token(text, output, index, input, *this);
    }
    if (!steps.empty()) text.ponder_steps.push_back(is_span ? 0 : steps[index]);
  }
  if (!steps.empty()) text.ponder_steps.push_back(steps.back());
}

}  // namespace edgewise
