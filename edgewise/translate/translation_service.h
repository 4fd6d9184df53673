// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "edgewise/translate/client_queue.h"
#include "edgewise/translate/translation.h"
#include "edgewise/translate/translation_engine.h"

namespace edgewise {

/// Sentences that a client of a TranslationService wants to be translated.
struct ServiceRequest {
  std::string client;  // clients take turns
  std::vector<TranslationRequest> sentences;
  std::int64_t n_best = 1;  // most outputs of a sentence; at most search.n_best of the service
};

/// A sentence after its search; TranslationService::decode returns its translation.
struct SearchedSentence {
  TokenizedSentence sentence;
  std::vector<std::vector<Hypothesis>> results;  // hypotheses of each part, best first
  std::int64_t n_best = 1;
};

/// Receives the results of a request, in threads of the service. Must be quick and must not throw.
struct ServiceReceiver {
  /// As ClientJob::begin.
  std::function<void(double seconds)> begin = {};
  /// Receives sentences[index] after its search, in any order. A thread of the receiver can decode the sentence while
  /// the service searches.
  std::function<void(std::size_t index, SearchedSentence searched)> take;
  /// Called once, after the last translation or instead of it; `error` is null if all is well.
  std::function<void(const std::exception_ptr& error)> end;
};

/// Translates the sentences of many clients at once, until it is destroyed. The sentences of all requests share the
/// batches of options.workers searches; a translation has the same bits in any company.
class TranslationService {
 public:
  using Ticket = ClientQueue::JobId;

  /// Loads the models as the constructors of Translator do, and starts the workers. options.max_pending_tokens bounds
  /// the input tokens of all requests together; options.n_best is the most outputs of a sentence. Throws Error if the
  /// system refuses to start a thread; with fewer workers than options.workers, translation only takes longer.
  TranslationService(std::vector<ModelFiles> models, const TranslatorOptions& options);
  TranslationService(LoadedModels models, TranslatorOptions options);
  TranslationService(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options);

  /// Calls stop().
  ~TranslationService();

  TranslationService(const TranslationService&) = delete;
  TranslationService& operator=(const TranslationService&) = delete;

  /// Returns nullopt if the request does not fit beside the others, and during drain(). Throws Error for sentences that
  /// TextCodec::encode refuses. Encodes in the calling thread.
  std::optional<Ticket> submit(ServiceRequest request, ServiceReceiver receiver);

  /// Returns the translation of a sentence that this service has searched. Threads may call it at the same time.
  Translation decode(const SearchedSentence& searched) const {
    return engine_.codec().decode(searched.sentence, searched.results, searched.n_best);
  }

  /// Ends a request; its sentences leave the batch before the next step. A call of the receiver that has begun may
  /// still be running when this function returns.
  void cancel(Ticket ticket) { queue_.cancel(ticket); }

  /// Refuses new requests, and waits for the end of the others.
  void drain();

  /// Cancels all requests, refuses new ones, and waits for the end of the workers.
  void stop();

  ClientQueue::Load load() const { return queue_.load(); }

  /// Returns whether a search has ended with a DeviceFailure. All later ones will, until a new process starts.
  bool has_device_failed() const { return has_device_failed_; }

 private:
  void start_workers();
  void run_worker();

  TranslationEngine engine_;
  ClientQueue queue_;
  std::atomic<bool> has_device_failed_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace edgewise
