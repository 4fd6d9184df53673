// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translation_service.h"

#include <algorithm>

#include "edgewise/base/background.h"
#include "edgewise/base/device_failure.h"
#include "edgewise/base/error.h"

namespace edgewise {

TranslationService::TranslationService(std::vector<ModelFiles> models, const TranslatorOptions& options)
    : TranslationService(load_models(std::move(models), options), options) {}

TranslationService::TranslationService(LoadedModels models, TranslatorOptions options)
    : TranslationService(std::make_shared<TranslationEngine>(std::move(models), std::move(options)), Workers::kOwn) {}

TranslationService::TranslationService(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : TranslationService(
          std::make_shared<TranslationEngine>(std::move(codec), std::move(make_scorer), std::move(options)),
          Workers::kOwn) {}

TranslationService::TranslationService(std::shared_ptr<TranslationEngine> engine)
    : TranslationService(std::move(engine), Workers::kOfRun) {}

TranslationService::TranslationService(std::shared_ptr<TranslationEngine> engine, Workers workers)
    : engine_(std::move(engine)),
      queue_(workers == Workers::kOwn ? engine_->options().max_pending_tokens : kUnlimited, engine_->options().stop) {
  if (workers == Workers::kOfRun) return;
  start_workers(engine_->options().workers);
  check(!workers_.empty(), "TranslationService: the system refuses to start a thread, needs at least one; {}",
        kRaiseProcessLimit);
}

TranslationService::~TranslationService() { stop(); }

void TranslationService::stop() {
  queue_.close();
  queue_.cancel_all();
  workers_.clear();
}

/// Starts fewer workers if the system refuses.
void TranslationService::start_workers(int count) {
  for (int i = 0; i < count; ++i) {
    auto thread = try_start_thread([this] { run_worker(); });
    if (!thread) return;
    workers_.push_back(std::move(*thread));
  }
}

/// Runs searches until the queue is closed. A search that failed ends the calls of its batch, and no others.
void TranslationService::run_worker() {
  ClientQueue::Consumer consumer(queue_);
  while (consumer.wait()) {
    try {
      engine_->run(consumer);
    } catch (const DeviceFailure&) {
      has_device_failed_ = true;
      consumer.fail(std::current_exception());
    } catch (...) {
      consumer.fail(std::current_exception());
    }
  }
}

void TranslationService::run() {
  start_workers(engine_->options().workers - 1);
  run_worker();  // in the calling thread, whose team of threads exists already
  workers_.clear();
}

void TranslationService::drain() {
  queue_.close();
  queue_.wait_until_empty();
}

TranslationCall::TranslationCall(TranslationService& service, CallOptions options)
    : service_(service), n_best_(std::min(options.n_best, service.engine_->search_options().n_best)) {
  call_ = ClientQueue::make_call(std::move(options));
}

bool TranslationCall::try_put(std::vector<TokenizedSentence>& sentences) {
  const bool is_in = service_.queue_.try_put(call_, sentences);
  if (is_in) size_ += std::ssize(sentences);
  return is_in;
}

void TranslationCall::put(const TranslationRequest& request) {
  service_.queue_.put(call_, service_.encode(request));
  ++size_;
}

std::optional<std::pair<std::size_t, Translation>> TranslationCall::next() {
  const auto taken = service_.queue_.take(call_);
  if (!taken) return std::nullopt;
  --size_;
  return std::pair(taken->first, service_.engine_->codec().decode(taken->second, n_best_));
}

}  // namespace edgewise
