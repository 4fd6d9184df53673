// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/aligned_texts.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

struct Sentence {
  std::size_t text = 0;  // number of the text
  SentenceSpan span;
};

std::vector<Sentence> find_sentences(const SentenceSplitter& splitter, std::span<const std::string> texts) {
  std::vector<Sentence> sentences;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const SentenceSpan& span : splitter.split(texts[i])) sentences.push_back({i, span});
  }
  return sentences;
}

void append_ranges(std::vector<ByteRange>& ranges, std::string_view text, const std::vector<std::string>& tokens,
                   std::size_t offset) {
  for (const ByteRange& range : find_token_ranges(text, tokens)) {
    ranges.push_back({range.begin + offset, range.end + offset});
  }
}

/// Appends the translation of the sentence at a byte of the input.
void append_sentence(AlignedTranslation& joined, std::string_view sentence, const Translation& translation,
                     std::size_t input_offset) {
  const TranslatedText& output = translation.outputs.front();
  const auto first_input = std::ssize(joined.input_tokens);
  const auto first_output = std::ssize(joined.output_tokens);
  for (const auto& [input_token, output_token] : output.alignment) {
    joined.alignment.push_back({input_token + first_input, output_token + first_output});
  }
  append_ranges(joined.input_tokens, sentence, translation.input_tokens, input_offset);
  append_ranges(joined.output_tokens, output.text, output.tokens, joined.text.size());
  joined.text += output.text;
}

}  // namespace

std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate, const SentenceSplitter& splitter,
                                                  std::span<const std::string> texts, const PairLanguages& languages) {
  const std::vector<Sentence> sentences = find_sentences(splitter, texts);
  const auto text_of = [&](const Sentence& sentence) {
    return std::string_view(texts[sentence.text]).substr(sentence.span.begin, sentence.span.end - sentence.span.begin);
  };
  std::vector<TranslationRequest> requests;
  for (const Sentence& sentence : sentences) {
    requests.push_back({.input = std::string(text_of(sentence)), .languages = languages});
  }
  const std::vector<Translation> outputs = requests.empty() ? std::vector<Translation>() : translate(requests);
  std::vector<AlignedTranslation> translations(texts.size());
  std::vector<std::size_t> ends(texts.size());  // the ends of the inputs that are translated
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto& [number, span] = sentences[i];
    AlignedTranslation& joined = translations[number];
    joined.text += texts[number].substr(ends[number], span.begin - ends[number]);
    append_sentence(joined, text_of(sentences[i]), outputs[i], span.begin);
    ends[number] = span.end;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) translations[i].text += texts[i].substr(ends[i]);
  return translations;
}

std::vector<AlignedTranslation> translate_aligned(Translator& translator, const SentenceSplitter& splitter,
                                                  std::span<const std::string> texts) {
  check(translator.search_options().attention,
        "translate_aligned: translator has no alignments, needs TranslatorOptions::alignment");
  return translate_aligned([&](auto requests) { return translator.translate(requests); }, splitter, texts);
}

}  // namespace edgewise
