// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/translate/client_queue.h"
#include "edgewise/translate/translation.h"
#include "edgewise/translate/translation_engine.h"

namespace edgewise {

// Translates the sentences of many callers at once. A TranslationService has a model, a queue and the threads that
// search; a TranslationCall puts one caller's sentences into the queue and hands out their translations.
//
// - Units: limits are in sentences and in input tokens; a sentence is UTF-8 text, which becomes a Translation.
// - Guarantee: a translation has the same bits in any company. Calls take turns, so a long text does not hold up a
//   short one (client_queue.h).
// - Threads: several may call all functions at the same time. put(), next(), wait_until(), drain() and run() wait for
//   translations, stop() and the destructor for the end of the workers.
// - Cost: options.workers searches, each with a batch of options.capacity, share the sentences of all calls and the
//   parameters of the model. try_put() bounds the sentences in memory by options.max_pending_tokens for all calls,
//   put() by CallOptions for each.
// - Errors: those of a sentence are thrown by encode() or put(), those of a search by next() of the calls in its batch;
//   other calls go on.

/// Translates until it is destroyed or stopped.
class TranslationService {
 public:
  /// Loads the models as the constructors of Translator do, and starts the workers. options.max_pending_tokens bounds
  /// the input tokens of all calls together; options.n_best is the most outputs of a sentence. Throws Error if the
  /// system refuses to start a thread; with fewer workers than options.workers, translation only takes longer.
  TranslationService(std::vector<ModelFiles> models, const TranslatorOptions& options);
  TranslationService(LoadedModels models, TranslatorOptions options);
  TranslationService(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options);

  /// A service without threads, and without a limit for all calls together: run() translates.
  explicit TranslationService(std::shared_ptr<TranslationEngine> engine);

  /// Calls stop().
  ~TranslationService();

  /// Translates in the calling thread and options.workers - 1 others, until close() was called and all sentences are
  /// translated. With fewer threads, if the system refuses to start one, translation only takes longer.
  void run();

  /// Converts a sentence as TextCodec::encode does, and throws as it does.
  TokenizedSentence encode(const TranslationRequest& request) const { return engine_->encode(request); }

  /// Refuses new sentences.
  void close() { queue_.close(); }

  /// Refuses new sentences, and waits until the others are translated.
  void drain();

  /// Cancels all calls, refuses new sentences, and waits for the end of the workers.
  void stop();

  ClientQueue::Load load() const { return queue_.load(); }

  /// Returns whether a search has ended with a DeviceFailure. All later ones will, until a new process starts.
  bool has_device_failed() const { return has_device_failed_; }

 private:
  friend class TranslationCall;

  /// The threads that search: those of the service, from its beginning on, or those of run().
  enum class Workers { kOwn, kOfRun };

  TranslationService(std::shared_ptr<TranslationEngine> engine, Workers workers);
  void start_workers(int count);
  void run_worker();

  std::shared_ptr<TranslationEngine> engine_;
  ClientQueue queue_;
  std::atomic<bool> has_device_failed_ = false;
  std::vector<std::jthread> workers_;
};

/// The sentences of one call in a service: put in, waited for and handed out, in their order or each as soon as it is
/// translated. Threads may call all functions at the same time. The service must outlive the call.
class TranslationCall {
 public:
  using Clock = ClientQueue::Clock;

  TranslationCall(TranslationService& service, CallOptions options);

  /// Cancels the call if it has sentences.
  ~TranslationCall() {
    if (size_ > 0) cancel();
  }

  /// Puts sentences of TranslationService::encode in together, and returns true; false, and leaves them as they are, if
  /// they do not fit beside those of other calls, and if the service takes no more. Throws as next() does if the call
  /// has ended.
  bool try_put(std::vector<TokenizedSentence>& sentences);

  /// Waits until a sentence is within the limits of CallOptions, and puts it in, also beside more tokens of other calls
  /// than try_put() allows. Throws as next() does if the call has ended.
  void put(const TranslationRequest& request);

  /// Declares that no more sentences will be put in. next() throws `error`, if given, after the last one.
  void complete(const std::exception_ptr& error = nullptr) { service_.queue_.complete(call_, error); }

  /// Waits until next() need not wait, and returns true; false at the deadline.
  bool wait_until(Clock::time_point deadline) { return service_.queue_.wait_until(call_, deadline); }

  /// Waits for a translation, and returns it with the number of its sentence in the call; nullopt after the last one
  /// of a complete call. Decodes in the calling thread. Throws the error of a search that failed, after which the call
  /// is at its end, and StopException after cancel(), which another thread may call meanwhile.
  std::optional<std::pair<std::size_t, Translation>> next();

  /// Ends the call; its sentences leave the batch before the next step.
  void cancel() { service_.queue_.cancel(call_); }

  /// Returns the number of sentences that were put in and not handed out.
  std::int64_t size() const { return size_; }

 private:
  TranslationService& service_;
  std::int64_t n_best_;
  ClientQueue::SharedCall call_;
  std::atomic<std::int64_t> size_ = 0;
};

}  // namespace edgewise
