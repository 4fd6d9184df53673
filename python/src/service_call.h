// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgewise/translate/translation_service.h"
#include "signals.h"

namespace edgewise::python {

/// Returns the name of a client. Each call is one, so that all calls take turns.
std::string new_client();

/// Selects what translations of a call contain.
struct ResultOptions {
  std::int64_t n_best = 1;
  bool attention = false;  // whether translations keep their attention weights, which need much memory
};

/// A call of Python in a service, whose sentences are taken out in the order in which they were put in. Its functions
/// must be called without the GIL, and throw nanobind::python_error if a signal handler raises an exception meanwhile.
/// The sentences that are not translated at the end of its life are cancelled.
class ServiceCall {
 public:
  ServiceCall(std::shared_ptr<TranslationService> service, const ResultOptions& options);

  /// Puts a sentence in; waits while the service has no space for it. Throws Error for a sentence that the model cannot
  /// have.
  void put(const TranslationRequest& sentence);

  /// Waits for the next translation and removes it. There must be one.
  Translation take();

  /// Returns the number of sentences that were put in and not taken out.
  std::int64_t size() const { return call_.size(); }

 private:
  std::shared_ptr<TranslationService> service_;
  bool has_attention_;
  TranslationCall call_;
  SignalClock signal_clock_;
};

/// Translates sentences and returns their translations in the same order.
std::vector<Translation> translate_all(std::shared_ptr<TranslationService> service,
                                       std::span<const TranslationRequest> sentences, const ResultOptions& options);

}  // namespace edgewise::python
