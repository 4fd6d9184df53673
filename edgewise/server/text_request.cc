// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/text_request.h"

#include <algorithm>
#include <span>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/server/request_error.h"
#include "edgewise/translate/aligned_texts.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_parts.h"

namespace edgewise {
namespace {

void check_size(std::size_t size, std::int64_t limit) {
  check(std::cmp_less_equal(size, limit), "Invalid request: request ({}) exceeds text limit ({})", size, limit);
}

/// Translates the texts of a request by one model after another.
class TextTranslator {
 public:
  TextTranslator(const TextRequest& request, RequestWait& wait, const StreamSink& sink)
      : request_(request), wait_(wait), sink_(sink) {}

  std::vector<TextResult> run() {
    std::vector<TextResult> results(request_.texts.size());
    for (std::size_t i = 0; i < results.size(); ++i) results[i].translation.text = request_.texts[i];
    for (const RouteStep& step : request_.route) run_step(step, results);
    return results;
  }

 private:
  void run_step(const RouteStep& step, std::vector<TextResult>& results) {
    const bool is_first = &step == &request_.route.front();
    const bool is_last = &step == &request_.route.back();
    std::vector<std::string> texts;
    texts.reserve(results.size());
    for (TextResult& result : results) texts.push_back(std::move(result.translation.text));
    std::vector<TextTranslation> translations =
        request_.format == TextFormat::kText ? translate_plain(step, texts, is_last) : translate_html(step, texts);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].translation = std::move(translations[i]);
      if (!is_first) results[i].intermediate = std::move(texts[i]);
    }
  }

  std::vector<TextTranslation> translate_plain(const RouteStep& step, std::span<const std::string> texts,
                                               bool is_last) {
    const TextOptions options = {
        .language = step.source, .line_breaks = request_.line_breaks, .languages = step.languages};
    const DividedTexts divided(texts, options);
    const std::vector<std::string> gaps = divided.gaps();
    const SentenceSink send = [&](std::size_t number, const Translation& translation) {
      sink_({.number = number, .gap = gaps[number], .translation = translation});
    };
    std::vector<Translation> translations =
        submit(step, divided.requests(), is_last, is_last && sink_ ? send : SentenceSink());
    return divided.join(translations);
  }

  std::vector<TextTranslation> translate_html(const RouteStep& step, std::span<const std::string> documents) {
    const auto translate_lines = [&](std::span<const std::string> lines) {
      return translate_aligned([&](auto sentences) { return submit(step, sentences, false); }, lines,
                               {.language = step.source, .languages = step.languages});
    };
    std::vector<TextTranslation> results;
    for (std::string& html : translate_markups(documents, translate_lines, request_.markup)) {
      results.push_back({std::move(html), {}});
    }
    return results;
  }

  std::vector<Translation> submit(const RouteStep& step, std::span<const TranslationRequest> sentences, bool is_last,
                                  const SentenceSink& sink = {}) {
    if (sentences.empty()) return {};
    ServiceRequest request{.client = request_.client, .sentences = {sentences.begin(), sentences.end()}};
    request.n_best = is_last ? std::min(request_.alternatives + 1, step.model->max_outputs) : 1;
    return wait_.translate(*step.model->service, std::move(request), sink);
  }

  const TextRequest& request_;
  RequestWait& wait_;
  const StreamSink& sink_;
};

/// Returns the text with output number `rank` of each sentence.
std::string text_of_rank(const TextTranslation& translation, std::size_t rank) {
  std::string text;
  std::size_t end = 0;
  for (const TextSentence& sentence : translation.sentences) {
    const std::vector<TranslatedText>& outputs = sentence.translation.outputs;
    if (outputs.size() < 2) continue;
    text += translation.text.substr(end, sentence.output.begin - end);
    text += replace_line_feeds(outputs[std::min(rank, outputs.size() - 1)].text);
    end = sentence.output.end;
  }
  return text + translation.text.substr(end);
}

}  // namespace

void check_limits(const TextRequest& request, const ServerOptions& options) {
  check_size(request.texts.size(), options.texts);
  for (const std::string& text : request.texts) check_size(count_code_points(text), options.characters);
  check(request.alternatives <= options.alternatives, "Invalid request: alternatives parameter must be <= {}",
        options.alternatives);
}

std::vector<TextResult> translate(const TextRequest& request, RequestWait& wait, const StreamSink& sink) {
  std::vector<TextResult> results = TextTranslator(request, wait, sink).run();
  for (TextResult& result : results) result.alternatives = alternatives_of(result.translation, request.alternatives);
  return results;
}

std::vector<std::string> alternatives_of(const TextTranslation& translation, std::int64_t count) {
  std::size_t most_outputs = 0;
  for (const TextSentence& sentence : translation.sentences) {
    most_outputs = std::max(most_outputs, sentence.translation.outputs.size());
  }
  std::vector<std::string> alternatives;
  for (std::size_t rank = 1; rank < most_outputs && std::cmp_less_equal(rank, count); ++rank) {
    std::string text = text_of_rank(translation, rank);
    const bool is_new = text != translation.text && std::ranges::find(alternatives, text) == alternatives.end();
    if (is_new) alternatives.push_back(std::move(text));
  }
  return alternatives;
}

}  // namespace edgewise
