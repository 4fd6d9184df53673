// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_translator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

SentenceSplitter make_splitter(const TextOptions& options, const PairLanguages& languages) {
  return SentenceSplitter(options.language.empty() ? languages.input : options.language, options.line_breaks);
}

TranslationRequest make_request(const TextSentence& sentence, const PairLanguages& languages) {
  return {.input = sentence.needs_translation ? sentence.line() : std::string(), .languages = languages};
}

/// The sentences of a text that were read and whose translations are missing. A thread adds sentences, another thread
/// removes them. They have a limited number of bytes together, because white space, which costs the translator's queue
/// nothing, may be long.
class PendingSentences {
 public:
  /// Waits until the sentence fits. Throws StopException after `stop`.
  void put(TextSentence sentence) {
    const std::size_t size = size_of(sentence);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || sentences_.empty() || num_bytes_ + size <= kMaxBytes; });
    if (is_stopped_) throw StopException();
    num_bytes_ += size;
    sentences_.push_back(std::move(sentence));
  }

  TextSentence take() {
    const std::lock_guard lock(mutex_);
    TextSentence sentence = std::move(sentences_.front());
    sentences_.pop_front();
    num_bytes_ -= size_of(sentence);
    changed_.notify_all();
    return sentence;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  static std::size_t size_of(const TextSentence& sentence) { return sentence.space.size() + sentence.text.size(); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TextSentence> sentences_;
  std::size_t num_bytes_ = 0;
  bool is_stopped_ = false;
};

/// Joins a text whose translations begin with number `next`, which becomes the number after the last one.
TextTranslation join_sentences(std::vector<TextSentence> sentences, std::span<Translation> translations,
                               std::size_t& next) {
  TextTranslation result;
  SentenceJoiner joiner;
  std::size_t input_end = 0;
  for (TextSentence& sentence : sentences) {
    if (sentence.needs_translation) sentence.translation = std::move(translations[next++]);
    result.text += joiner.next(sentence, sentence.translation);
    sentence.input.begin = input_end + sentence.space.size();
    sentence.input.end = input_end = sentence.input.begin + sentence.text.size();
    const std::size_t size =
        sentence.needs_translation ? sentence.translation.outputs.front().text.size() : sentence.text.size();
    sentence.output = {result.text.size() - size, result.text.size()};
    if (!sentence.text.empty()) result.sentences.push_back(std::move(sentence));
  }
  return result;
}

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

/// Places of a line in the input and the output.
struct LinePlace {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Appends the tokens of a sentence; a sentence that was copied is one token.
void append_sentence(AlignedTranslation& line, const LinePlace& place, std::string_view input,
                     const TextSentence& sentence) {
  AlignedTranslation part = {
      .text = {},
      .input_tokens = {{0, input.size()}},
      .output_tokens = {{0, sentence.output.end - sentence.output.begin}},
      .alignment = {{0, 0}},
  };
  if (!sentence.translation.outputs.empty()) {
    const TranslatedText& output = sentence.translation.outputs.front();
    part.input_tokens = find_token_ranges(input, sentence.translation.input_tokens);
    part.output_tokens = find_token_ranges(output.text, output.tokens);
    part.alignment = output.alignment;
  }
  append_tokens(line, part, sentence.input.begin - place.input, sentence.output.begin - place.output);
}

}  // namespace

DividedTexts::DividedTexts(std::span<const std::string> texts, const TextOptions& options)
    : languages_(options.languages) {
  const SentenceSplitter splitter = make_splitter(options, options.languages);
  for (const std::string& text : texts) texts_.push_back(TextDivider(splitter).divide(text));
}

std::vector<TranslationRequest> DividedTexts::requests() const {
  std::vector<TranslationRequest> requests;
  for (const std::vector<TextSentence>& text : texts_) {
    for (const TextSentence& sentence : text) {
      if (sentence.needs_translation) requests.push_back(make_request(sentence, languages_));
    }
  }
  return requests;
}

std::vector<std::string> DividedTexts::gaps() const {
  std::vector<std::string> gaps;
  for (const std::vector<TextSentence>& text : texts_) {
    std::string gap;
    for (const TextSentence& sentence : text) {
      gap += sentence.space;
      if (sentence.needs_translation) {
        gaps.push_back(std::exchange(gap, {}));
      } else {
        gap += sentence.text;
      }
    }
  }
  return gaps;
}

std::vector<TextTranslation> DividedTexts::join(std::span<Translation> translations) && {
  std::vector<TextTranslation> results;
  results.reserve(texts_.size());
  std::size_t next = 0;
  for (std::vector<TextSentence>& text : texts_) results.push_back(join_sentences(std::move(text), translations, next));
  return results;
}

std::vector<TextTranslation> translate_texts(std::span<const std::string> texts, const TextOptions& options,
                                             const TranslateSentences& translate) {
  DividedTexts divided(texts, options);
  const std::vector<TranslationRequest> requests = divided.requests();
  std::vector<Translation> translations;
  if (!requests.empty()) translations = translate(requests);
  return std::move(divided).join(translations);
}

TextTranslation translate_text(std::string_view text, const TextOptions& options, const TranslateSentences& translate) {
  const std::string texts[] = {std::string(text)};
  return std::move(translate_texts(texts, options, translate).front());
}

void translate_text(Translator& translator, const TextSource& next, const TextSink& take, const TextOptions& options,
                    const std::function<void()>& interrupt) {
  const bool has_input_language = !options.languages.input.empty();
  TextDivider divider(make_splitter(options, has_input_language ? options.languages : translator.languages()));
  std::vector<TextSentence> sentences;  // the sentences of the last piece
  std::size_t index = 0;
  PendingSentences pending;
  SentenceJoiner joiner;
  const auto next_request = [&]() -> std::optional<TranslationRequest> {
    for (; index == sentences.size(); index = 0) {
      const auto piece = next();
      if (!piece) return std::nullopt;
      sentences = divider.divide(*piece);
    }
    TextSentence& sentence = sentences[index++];
    TranslationRequest request = make_request(sentence, options.languages);
    pending.put(std::move(sentence));
    return request;
  };
  const auto take_translation = [&](const Translation& translation) {
    const TextSentence sentence = pending.take();
    take(joiner.next(sentence, translation), sentence.text.empty() ? 0 : 1);
  };
  translator.translate(next_request, take_translation, [&] {
    pending.stop();
    if (interrupt) interrupt();
  });
}

std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate,
                                                  std::span<const std::string> texts, const TextOptions& options) {
  const std::string input = fmt::format("{}\n", fmt::join(texts, "\n"));
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
