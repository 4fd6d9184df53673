// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/generate/generation_service.h"
#include "edgewise/generate/generator.h"
#include "of_process.h"
#include "signals.h"

namespace edgewise::python {

/// A language model, and the service of this process that continues texts with it.
class SharedGenerator {
 public:
  /// Loads a model, which Ctrl-C can end. Throws Error as GenerationEngine does. Call it with the GIL, which is
  /// released meanwhile.
  SharedGenerator(const std::string& path, GeneratorOptions options);

  /// Returns the service, and starts it if this is the first request. Call it with the GIL, so that one thread at a
  /// time does.
  std::shared_ptr<GenerationService> service();

  const GeneratorOptions& options() const { return engine_->options(); }

 private:
  StopRequest stop_ = false;  // of the loading
  std::shared_ptr<GenerationEngine> engine_;
  OfProcess<std::shared_ptr<GenerationService>> service_;
};

/// The texts of one call of Python. Its functions must be called without the GIL, and throw nanobind::python_error if a
/// signal handler raises an exception meanwhile. The end of its life cancels the texts that are not complete.
class ContinuationCall {
 public:
  /// Throws Error as GenerationEngine::begin does.
  ContinuationCall(std::shared_ptr<GenerationService> service, std::span<const GenerationRequest> requests);

  /// Waits for a part of a continuation; nullopt after the end of the last one.
  std::optional<GeneratedPiece> next();

  /// Returns the tokens of each prompt, with its begin token.
  const std::vector<std::int64_t>& prompt_tokens() const { return prompt_tokens_; }

 private:
  std::shared_ptr<GenerationService> service_;
  std::vector<std::int64_t> prompt_tokens_;
  GenerationCall call_;
  SignalClock signal_clock_;
};

/// Continues prompts, and returns the continuations in the order of the prompts.
std::vector<GeneratedTexts> continue_all(std::shared_ptr<GenerationService> service,
                                         std::span<const GenerationRequest> requests);

}  // namespace edgewise::python
