// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/text_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_sentences.h"

namespace edgewise {

RequestWait::RequestWait(HttpExchange& exchange, Clock::time_point deadline, Metrics& metrics)
    : deadline_(deadline), metrics_(metrics) {
  exchange.on_abandon([source = client_is_gone_]() mutable { source.request_stop(); });
}

std::vector<Translation> RequestWait::translate(TranslationService& service,
                                                std::span<const TranslationRequest> sentences, CallOptions options,
                                                const SentenceSink& sink) {
  std::vector<TokenizedSentence> tokenized;
  tokenized.reserve(sentences.size());
  for (const TranslationRequest& sentence : sentences) tokenized.push_back(service.encode(sentence));
  options.begin = [&metrics = metrics_](double seconds) { metrics.count_wait(seconds); };
  TranslationCall call(service, std::move(options));
  if (!call.try_put(tokenized)) {
    metrics_.count_rejection("queue");
    throw RequestError(429, "Slowdown: too many texts are waiting", {{"Retry-After", "1"}});
  }
  const std::stop_callback cancel(client_is_gone_.get_token(), [&call] { call.cancel(); });

  std::vector<Translation> translations(sentences.size());
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (!call.wait_until(deadline_)) {
      metrics_.count_rejection("deadline");
      throw RequestError(504, "the time for the request is over");
    }
    auto [index, translation] = *call.next();
    input_tokens += std::ssize(translation.input_tokens);
    output_tokens += std::ssize(translation.outputs.front().tokens);
    if (sink) sink(index, translation);
    translations[index] = std::move(translation);
  }
  metrics_.count_tokens(input_tokens, output_tokens);
  return translations;
}

namespace {

void check_size(std::size_t size, std::int64_t limit) {
  check(std::cmp_less_equal(size, limit), "Invalid request: request ({}) exceeds text limit ({})", size, limit);
}

/// Texts of a request that one model translates from one language, in one call.
struct TextGroup {
  const RouteStep* step;
  bool is_last;                      // whether no other model follows
  std::vector<std::size_t> numbers;  // numbers of its texts
};

/// Returns the texts that have a model with this number in their route, in groups.
std::vector<TextGroup> group_texts(const std::vector<Route>& routes, std::size_t number) {
  std::vector<TextGroup> groups;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].size() <= number) continue;
    const RouteStep& step = routes[i][number];
    const bool is_last = routes[i].size() == number + 1;
    const auto found = std::ranges::find_if(groups, [&](const TextGroup& group) {
      return group.step->model == step.model && group.step->source == step.source && group.is_last == is_last;
    });
    TextGroup& group = found == groups.end() ? groups.emplace_back(TextGroup{&step, is_last, {}}) : *found;
    group.numbers.push_back(i);
  }
  return groups;
}

/// Translates the texts of a request by one model after another.
class RequestTranslation {
 public:
  RequestTranslation(const TextRequest& request, RequestWait& wait, const StreamSink& sink)
      : request_(request), wait_(wait), sink_(sink) {}

  std::vector<TextTranslation> run() {
    std::vector<TextTranslation> results(request_.texts.size());
    for (std::size_t i = 0; i < results.size(); ++i) results[i].text = request_.texts[i];
    for (std::size_t number = 0;; ++number) {
      const std::vector<TextGroup> groups = group_texts(request_.routes, number);
      if (groups.empty()) return results;
      for (const TextGroup& group : groups) translate_group(group, number > 0, results);
    }
  }

 private:
  void translate_group(const TextGroup& group, bool is_second, std::vector<TextTranslation>& results) {
    std::vector<std::string> texts;
    texts.reserve(group.numbers.size());
    for (const std::size_t number : group.numbers) texts.push_back(std::move(results[number].text));
    std::vector<TextTranslation> translations =
        request_.format == TextFormat::kText ? translate_plain(group, texts) : translate_html(group, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      TextTranslation& result = results[group.numbers[i]];
      result = std::move(translations[i]);
      if (is_second) result.intermediate = std::move(texts[i]);
    }
  }

  std::vector<TextTranslation> translate_plain(const TextGroup& group, std::span<const std::string> texts) {
    /// The place of a sentence of the group among the texts of the request.
    struct Place {
      std::size_t text;
      std::size_t number;
      std::string gap;
    };
    const TextOptions options = {
        .language = group.step->source, .line_breaks = request_.line_breaks, .languages = group.step->languages};
    std::vector<DividedTexts> divided;  // one for each text
    std::vector<TranslationRequest> sentences;
    std::vector<Place> places;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      divided.emplace_back(texts.subspan(i, 1), options);
      std::ranges::move(divided.back().requests(), std::back_inserter(sentences));
      std::size_t number = 0;
      for (std::string& gap : divided.back().gaps()) places.push_back({group.numbers[i], number++, std::move(gap)});
    }
    const SentenceSink send = [&](std::size_t index, Translation& translation) {
      const Place& place = places[index];
      sink_({.text = place.text, .number = place.number, .gap = place.gap, .translation = translation});
    };
    std::vector<Translation> translations = submit(group, sentences, group.is_last && sink_ ? send : SentenceSink());
    std::vector<TextTranslation> joined;
    auto next = places.begin();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto begin = next;
      while (next != places.end() && next->text == group.numbers[i]) ++next;
      const std::span<Translation> own = std::span(translations).subspan(begin - places.begin(), next - begin);
      joined.push_back(std::move(std::move(divided[i]).join(own).front()));
    }
    return joined;
  }

  std::vector<TextTranslation> translate_html(const TextGroup& group, std::span<const std::string> documents) {
    const auto translate_lines = [&](std::span<const std::string> lines) {
      const TextGroup best_outputs{group.step, /*is_last=*/false, {}};
      return translate_aligned([&](auto sentences) { return submit(best_outputs, sentences); }, lines,
                               {.language = group.step->source, .languages = group.step->languages});
    };
    std::vector<TextTranslation> results;
    for (std::string& html : translate_markups(documents, translate_lines, request_.markup)) {
      results.push_back({std::move(html)});
    }
    return results;
  }

  std::vector<Translation> submit(const TextGroup& group, std::span<const TranslationRequest> sentences,
                                  const SentenceSink& sink = {}) {
    if (sentences.empty()) return {};
    ServedModel& model = *group.step->model;
    const std::int64_t n_best = group.is_last ? std::min(request_.alternatives + 1, model.max_outputs) : 1;
    return wait_.translate(*model.service, sentences, {.client = request_.client, .n_best = n_best}, sink);
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

std::vector<TextTranslation> translate(const TextRequest& request, RequestWait& wait, const StreamSink& sink) {
  std::vector<TextTranslation> results = RequestTranslation(request, wait, sink).run();
  for (TextTranslation& result : results) result.alternatives = alternatives_of(result, request.alternatives);
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
