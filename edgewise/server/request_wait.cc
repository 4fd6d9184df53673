// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/request_wait.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "edgewise/base/stop_request.h"
#include "edgewise/server/request_error.h"

namespace edgewise {

namespace {

/// Numbers of the tokens of translations.
struct TokenCounts {
  std::int64_t input = 0;
  std::int64_t output = 0;

  void add(const Translation& translation) {
    input += std::ssize(translation.input_tokens);
    output += std::ssize(translation.outputs.front().tokens);
  }
};

}  // namespace

/// Threads of the service and of the connection hold the client and the call, which may live longer than RequestWait.
struct RequestWait::Client {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_gone = false;
};

struct RequestWait::Call {
  std::shared_ptr<Client> client;                                  // its mutex guards the other members
  std::vector<std::pair<std::size_t, SearchedSentence>> searched;  // sentences that wait() has not decoded
  std::exception_ptr error;
  bool has_ended = false;

  void take(std::size_t index, SearchedSentence sentence) {
    const std::lock_guard lock(client->mutex);
    searched.emplace_back(index, std::move(sentence));
    client->changed.notify_all();
  }

  void end(const std::exception_ptr& reason) {
    const std::lock_guard lock(client->mutex);
    error = reason;
    has_ended = true;
    client->changed.notify_all();
  }
};

RequestWait::RequestWait(HttpExchange& exchange, Clock::time_point deadline, Metrics& metrics)
    : client_(std::make_shared<Client>()), deadline_(deadline), metrics_(metrics) {
  exchange.on_abandon([client = client_] {
    const std::lock_guard lock(client->mutex);
    client->is_gone = true;
    client->changed.notify_all();
  });
}

std::vector<Translation> RequestWait::translate(TranslationService& service, ServiceRequest request,
                                                const SentenceSink& sink) {
  auto call = std::make_shared<Call>();
  call->client = client_;
  std::vector<Translation> translations(request.sentences.size());
  TokenCounts tokens;
  const auto decode = [&](std::size_t index, const SearchedSentence& searched) {
    translations[index] = service.decode(searched);
    tokens.add(translations[index]);
    if (sink) sink(index, translations[index]);
  };
  // The receiver must not hold the service: its threads would then destroy it.
  const auto ticket =
      service.submit(std::move(request),
                     {.begin = [&metrics = metrics_](double seconds) { metrics.count_wait(seconds); },
                      .take = [call](std::size_t i, SearchedSentence searched) { call->take(i, std::move(searched)); },
                      .end = [call](const std::exception_ptr& error) { call->end(error); }});
  if (!ticket) {
    metrics_.count_rejection("queue");
    throw RequestError(429, "Slowdown: too many texts are waiting", {{"Retry-After", "1"}});
  }
  try {
    wait(*call, decode);
  } catch (...) {
    service.cancel(*ticket);
    throw;
  }
  metrics_.count_tokens(tokens.input, tokens.output);
  return translations;
}

void RequestWait::wait(Call& call, const SearchedSink& decode) {
  std::unique_lock lock(client_->mutex);
  const auto has_news = [&] { return client_->is_gone || call.has_ended || !call.searched.empty(); };
  while (true) {
    const bool is_in_time = client_->changed.wait_until(lock, deadline_, has_news) && Clock::now() < deadline_;
    if (!is_in_time && !client_->is_gone && !call.has_ended) {
      metrics_.count_rejection("deadline");
      throw RequestError(504, "the time for the request is over");
    }
    if (client_->is_gone) throw StopException();
    const auto searched = std::exchange(call.searched, {});
    const bool has_ended = call.has_ended;
    lock.unlock();
    for (const auto& [index, sentence] : searched) decode(index, sentence);
    if (has_ended) break;
    lock.lock();
  }
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace edgewise
