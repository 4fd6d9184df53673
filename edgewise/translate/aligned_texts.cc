// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/aligned_texts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/translate/text_translator.h"

namespace edgewise {
namespace {

/// Translates without keeping attention weights, which need much more memory than alignments.
std::vector<Translation> translate_sentences(Translator& translator, std::span<const TranslationRequest> requests) {
  std::vector<Translation> translations;
  std::size_t next = 0;
  translator.translate(
      [&]() -> std::optional<TranslationRequest> {
        return next < requests.size() ? std::optional(requests[next++]) : std::nullopt;
      },
      [&](Translation translation) {
        for (TranslatedText& output : translation.outputs) output.attention.clear();
        translations.push_back(std::move(translation));
      });
  return translations;
}

std::string join_lines(std::span<const std::string> texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + '\n';
  return lines;
}

void append_ranges(std::vector<ByteRange>& ranges, std::string_view text, const std::vector<std::string>& tokens,
                   std::size_t offset) {
  for (const ByteRange& range : find_token_ranges(text, tokens)) {
    ranges.push_back({range.begin + offset, range.end + offset});
  }
}

/// Places of a line in the input and the output.
struct LinePlace {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Appends the tokens of a sentence; a sentence that was copied is one token.
void append_sentence(AlignedTranslation& line, const LinePlace& place, std::string_view input,
                     const TextSentence& sentence) {
  const auto first_input = std::ssize(line.input_tokens);
  const auto first_output = std::ssize(line.output_tokens);
  const ByteRange input_bytes = {sentence.input.begin - place.input, sentence.input.end - place.input};
  const ByteRange output_bytes = {sentence.output.begin - place.output, sentence.output.end - place.output};
  if (sentence.translation.outputs.empty()) {
    line.input_tokens.push_back(input_bytes);
    line.output_tokens.push_back(output_bytes);
    line.alignment.push_back({first_input, first_output});
    return;
  }
  const TranslatedText& output = sentence.translation.outputs.front();
  append_ranges(line.input_tokens, input, sentence.translation.input_tokens, input_bytes.begin);
  append_ranges(line.output_tokens, output.text, output.tokens, output_bytes.begin);
  for (const auto& [input_token, output_token] : output.alignment) {
    line.alignment.push_back({input_token + first_input, output_token + first_output});
  }
}

}  // namespace

std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate,
                                                  std::span<const std::string> texts, const TextOptions& options) {
  const std::string input = join_lines(texts);
  TextOptions line_options = options;
  line_options.line_breaks = LineBreaks::kEnd;
  const TextTranslation translated = translate_text(input, line_options, translate);

  std::vector<AlignedTranslation> lines(texts.size());
  LinePlace place;
  auto sentence = translated.sentences.begin();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t input_end = place.input + texts[i].size();
    const std::size_t output_end = std::min(translated.text.find('\n', place.output), translated.text.size());
    lines[i].text = translated.text.substr(place.output, output_end - place.output);
    for (; sentence != translated.sentences.end() && sentence->input.begin < input_end; ++sentence) {
      const auto [begin, end] = sentence->input;
      append_sentence(lines[i], place, std::string_view(input).substr(begin, end - begin), *sentence);
    }
    place = {input_end + 1, output_end + 1};
  }
  return lines;
}

std::vector<AlignedTranslation> translate_aligned(Translator& translator, std::span<const std::string> texts,
                                                  std::string_view language) {
  check(translator.search_options().attention,
        "translate_aligned: translator has no alignments, needs TranslatorOptions::alignment");
  const TextOptions options = {.language = std::string(language.empty() ? translator.languages().input : language)};
  return translate_aligned([&](auto requests) { return translate_sentences(translator, requests); }, texts, options);
}

}  // namespace edgewise
