// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/request_wait.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "edgewise/base/stop_request.h"
#include "edgewise/server/request_error.h"

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

}  // namespace edgewise
