// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translation_service.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/device_failure.h"
#include "edgewise/base/error.h"

namespace edgewise {

TranslationService::TranslationService(std::vector<ModelFiles> models, const TranslatorOptions& options)
    : TranslationService(load_models(std::move(models), options), options) {}

TranslationService::TranslationService(LoadedModels models, TranslatorOptions options)
    : engine_(std::move(models), std::move(options)), queue_(engine_.options().max_pending_tokens) {
  start_workers();
}

TranslationService::TranslationService(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : engine_(std::move(codec), std::move(make_scorer), std::move(options)),
      queue_(engine_.options().max_pending_tokens) {
  start_workers();
}

TranslationService::~TranslationService() { stop(); }

void TranslationService::stop() {
  queue_.close();
  queue_.cancel_all();
  workers_.clear();
}

void TranslationService::start_workers() {
  for (int i = 0; i < engine_.options().workers; ++i) {
    auto thread = try_start_thread([this] { run_worker(); });
    if (!thread) break;
    workers_.push_back(std::move(*thread));
  }
  check(!workers_.empty(), "TranslationService: the system refuses to start a thread, needs at least one; {}",
        kRaiseProcessLimit);
}

/// Runs searches until the queue is closed. A search that failed ends the requests of its batch, and no others.
void TranslationService::run_worker() {
  ClientQueue::Consumer consumer(queue_);
  while (consumer.wait()) {
    try {
      engine_.run(consumer);
    } catch (const DeviceFailure&) {
      has_device_failed_ = true;
      consumer.fail(std::current_exception());
    } catch (...) {
      consumer.fail(std::current_exception());
    }
  }
}

std::optional<TranslationService::Ticket> TranslationService::submit(ServiceRequest request, ServiceReceiver receiver) {
  ClientJob job = {.client = std::move(request.client),
                   .sentences = {},
                   .n_best = request.n_best,
                   .begin = std::move(receiver.begin),
                   .take = {},
                   .end = std::move(receiver.end)};
  for (const TranslationRequest& sentence : request.sentences) job.sentences.push_back(engine_.encode(sentence));
  job.take = [n_best = std::min(request.n_best, engine_.search_options().n_best), take = std::move(receiver.take)](
                 std::size_t index, const TokenizedSentence& sentence, std::vector<std::vector<Hypothesis>> results) {
    take(index, {sentence, std::move(results), n_best});
  };
  return queue_.put(std::move(job));
}

void TranslationService::drain() {
  queue_.close();
  queue_.wait_until_empty();
}

}  // namespace edgewise
