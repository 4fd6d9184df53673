// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/generate/options.h"
#include "edgewise/generate/stop_strings.h"
#include "edgewise/generate/token_decoder.h"
#include "edgewise/search/generation.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

struct GenerationRequest {
  std::string prompt = {};  // may be empty
  GenerateOptions options = {};
};

/// A part of a continuation. Parts never end within a character, and have no part of a stop string.
struct GeneratedPiece {
  std::size_t request = 0;  // index of the request
  std::int64_t sample = 0;  // number of the continuation
  std::string text = {};
  std::int64_t tokens = 0;               // tokens of the continuation so far
  std::optional<FinishReason> end = {};  // in the last part, whose text may be empty
};

/// A request as tokens, and the text of its continuations so far.
class ContinuedText {
 public:
  ContinuedText(const Vocabulary& vocabulary, GenerationInput input, const std::vector<std::string>& stop);

  GenerationInput& input() { return input_; }

  /// Returns the part that another token gives, whose text may be empty.
  GeneratedPiece put_token(std::int64_t sample, std::int64_t token);

  /// Returns whether a continuation has a stop string.
  bool is_stopped(std::int64_t sample) const { return at(sample).filter.is_stopped(); }

  /// Returns the last part.
  GeneratedPiece put_end(std::int64_t sample, FinishReason reason);

 private:
  struct Sample {
    TokenDecoder text;
    StopFilter filter;
    std::int64_t tokens = 0;
  };
  Sample& at(std::int64_t sample) { return samples_[static_cast<std::size_t>(sample)]; }
  const Sample& at(std::int64_t sample) const { return samples_[static_cast<std::size_t>(sample)]; }

  GenerationInput input_;
  std::unique_ptr<const StopStrings> stop_;
  std::vector<Sample> samples_;
};

/// A packed language model with its vocabulary. Threads may call all functions at the same time.
class GenerationEngine {
 public:
  /// Throws Error for a model that is no language model, and StopException if options.stop is set meanwhile.
  GenerationEngine(ModelFiles model, const GeneratorOptions& options);

  /// Uses scorers that `make_scorer` makes, of a model with `max_positions` learned positions, 0 for no limit. Does not
  /// use options.precision.
  GenerationEngine(std::shared_ptr<const Vocabulary> vocabulary, std::int64_t max_positions, ScorerFactory make_scorer,
                   const GeneratorOptions& options);

  /// Converts a request. Throws Error for a prompt that is not UTF-8, and for options out of their range.
  ContinuedText begin(const GenerationRequest& request) const;

  /// Continues the texts of a queue until the queue is at its end or stopped, with a scorer that no other call uses
  /// meanwhile. A scorer whose call threw an exception is not used again.
  void run(GenerationQueue& queue);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const GeneratorOptions& options() const { return options_; }

 private:
  std::unique_ptr<Scorer> borrow_scorer();

  GeneratorOptions options_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::int64_t max_positions_;  // 0: no limit
  GenerationRules rules_;
  ScorerFactory make_scorer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scorer>> idle_scorers_;
};

}  // namespace edgewise
