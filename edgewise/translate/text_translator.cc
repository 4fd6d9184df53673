// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_translator.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace edgewise {
namespace {

SentenceSplitter make_splitter(const TextOptions& options, const PairLanguages& languages) {
  return SentenceSplitter(options.language.empty() ? languages.input : options.language, options.line_breaks);
}

TranslationRequest make_request(const TextPart& part, const PairLanguages& languages) {
  return {.input = part.needs_translation ? part.input() : std::string(), .languages = languages};
}

std::string join(PartJoiner& joiner, const TextPart& part, const Translation& translation) {
  return part.needs_translation ? joiner.translated(part, translation.outputs.front().text) : joiner.copied(part);
}

/// The parts of a text that were read and whose translations are missing. A thread adds parts, another thread removes
/// them. The parts have a limited number of bytes together, because white space, which costs the translator's queue
/// nothing, may be long.
class PendingParts {
 public:
  /// Waits until the part fits. Throws StopException after `stop`.
  void put(TextPart part) {
    const std::size_t size = size_of(part);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || parts_.empty() || num_bytes_ + size <= kMaxBytes; });
    if (is_stopped_) throw StopException();
    num_bytes_ += size;
    parts_.push_back(std::move(part));
  }

  TextPart take() {
    const std::lock_guard lock(mutex_);
    TextPart part = std::move(parts_.front());
    parts_.pop_front();
    num_bytes_ -= size_of(part);
    changed_.notify_all();
    return part;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  static std::size_t size_of(const TextPart& part) { return part.space.size() + part.sentence.size(); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TextPart> parts_;
  std::size_t num_bytes_ = 0;
  bool is_stopped_ = false;
};

/// Divides the pieces of a text into parts.
class PartSource {
 public:
  PartSource(const TextSource& next, const SentenceSplitter& splitter) : next_(next), divider_(splitter) {}

  std::optional<TextPart> next() {
    while (index_ == parts_.size()) {
      const auto piece = next_();
      if (!piece) return std::nullopt;
      parts_ = divider_.divide(*piece);
      index_ = 0;
    }
    return std::move(parts_[index_++]);
  }

 private:
  const TextSource& next_;
  TextDivider divider_;
  std::vector<TextPart> parts_;
  std::size_t index_ = 0;
};

/// Joins a text whose translations begin with number `next`, which becomes the number behind the last one.
TextTranslation join_parts(std::span<const TextPart> parts, std::span<Translation> translations, std::size_t& next) {
  TextTranslation result;
  PartJoiner joiner;
  std::size_t input_end = 0;
  for (const TextPart& part : parts) {
    Translation translation;
    if (part.needs_translation) translation = std::move(translations[next++]);
    result.text += join(joiner, part, translation);
    const ByteRange input = {input_end + part.space.size(), input_end + part.space.size() + part.sentence.size()};
    input_end = input.end;
    if (part.sentence.empty()) continue;
    const std::size_t size = part.needs_translation ? translation.outputs.front().text.size() : part.sentence.size();
    result.sentences.push_back({input, {result.text.size() - size, result.text.size()}, std::move(translation)});
  }
  return result;
}

}  // namespace

DividedTexts::DividedTexts(std::span<const std::string> texts, const TextOptions& options)
    : languages_(options.languages) {
  const SentenceSplitter splitter = make_splitter(options, options.languages);
  for (const std::string& text : texts) parts_.push_back(TextDivider(splitter).divide(text));
}

std::vector<TranslationRequest> DividedTexts::requests() const {
  std::vector<TranslationRequest> requests;
  for (const std::vector<TextPart>& text : parts_) {
    for (const TextPart& part : text) {
      if (part.needs_translation) requests.push_back(make_request(part, languages_));
    }
  }
  return requests;
}

std::vector<std::string> DividedTexts::gaps() const {
  std::vector<std::string> gaps;
  for (const std::vector<TextPart>& text : parts_) {
    std::string gap;
    for (const TextPart& part : text) {
      gap += part.space;
      if (part.needs_translation) {
        gaps.push_back(std::exchange(gap, {}));
      } else {
        gap += part.sentence;
      }
    }
  }
  return gaps;
}

std::vector<TextTranslation> DividedTexts::join(std::span<Translation> translations) const {
  std::vector<TextTranslation> results;
  results.reserve(parts_.size());
  std::size_t next = 0;
  for (const std::vector<TextPart>& text : parts_) results.push_back(join_parts(text, translations, next));
  return results;
}

std::vector<TextTranslation> translate_texts(std::span<const std::string> texts, const TextOptions& options,
                                             const TranslateSentences& translate) {
  const DividedTexts divided(texts, options);
  const std::vector<TranslationRequest> requests = divided.requests();
  std::vector<Translation> translations = requests.empty() ? std::vector<Translation>() : translate(requests);
  return divided.join(translations);
}

TextTranslation translate_text(std::string_view text, const TextOptions& options, const TranslateSentences& translate) {
  const std::string texts[] = {std::string(text)};
  return std::move(translate_texts(texts, options, translate).front());
}

void translate_text(Translator& translator, const TextSource& next, const TextSink& take, const TextOptions& options,
                    const std::function<void()>& interrupt) {
  const bool has_input_language = !options.languages.input.empty();
  PartSource source(next, make_splitter(options, has_input_language ? options.languages : translator.languages()));
  PendingParts pending;
  PartJoiner joiner;
  const auto next_request = [&]() -> std::optional<TranslationRequest> {
    auto part = source.next();
    if (!part) return std::nullopt;
    TranslationRequest request = make_request(*part, options.languages);
    pending.put(*std::move(part));
    return request;
  };
  const auto take_translation = [&](const Translation& translation) {
    const TextPart part = pending.take();
    take(join(joiner, part, translation), part.sentence.empty() ? 0 : 1);
  };
  translator.translate(next_request, take_translation, [&] {
    pending.stop();
    if (interrupt) interrupt();
  });
}

}  // namespace edgewise
