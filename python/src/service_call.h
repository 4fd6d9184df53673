// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/translate/translation_service.h"
#include "signals.h"

namespace edgewise::python {

/// Selects the parts of each translation that a call returns.
struct CallOptions {
  std::int64_t n_best = 1;
  bool attention = false;  // whether translations keep their attention weights, which need much memory
};

/// The sentences of one call of Python in a service: put in, and taken out in the same order. Its functions must be
/// called without the GIL, and throw nanobind::python_error if a signal handler raises an exception meanwhile.
class ServiceCall {
 public:
  ServiceCall(std::shared_ptr<TranslationService> service, const CallOptions& options);
  ServiceCall(const ServiceCall&) = delete;
  ServiceCall& operator=(const ServiceCall&) = delete;

  /// Cancels the sentences that are not translated yet.
  ~ServiceCall();

  /// Puts a sentence in; waits while the service has no space for it. Throws Error for a sentence that the model cannot
  /// have.
  void put(TranslationRequest sentence);

  /// Waits for the next translation and removes it. There must be one.
  Translation take();

  /// Returns the number of sentences that were put in and not taken out.
  std::size_t size() const { return jobs_.size(); }

 private:
  struct Job;

  std::shared_ptr<TranslationService> service_;
  CallOptions options_;
  std::string client_;
  std::deque<std::shared_ptr<Job>> jobs_;
  SignalClock signal_clock_;
};

/// Translates sentences and returns their translations in the same order.
std::vector<Translation> translate_all(std::shared_ptr<TranslationService> service,
                                       std::vector<TranslationRequest> sentences, const CallOptions& options);

}  // namespace edgewise::python
