// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

// Continuing texts with the scorer of a language model, for many texts at once.
//
// - Guarantee: the continuations of a text are independent of the other texts and the time, provided that the scorer's
//   results are. A sample depends on GenerationInput::seed and its number, so that the first samples stay the same if
//   there are more of them.
// - Threads: generate() calls its scorer and its queue in the calling thread.
// - Cost: the scorer computes a prompt in blocks, once for all samples, and then a token of each sample in each step.
//   Memory for a sample that goes on without end: that of the scorer, and with a repetition penalty the set of its
//   tokens.
// - Context: a model with learned positions has positions for `context` tokens. A text of n > context tokens is
// computed
//   from its last tokens, as a text of its own that begins with them: it leaves out its first h * ceil((n - context) /
//   h) tokens, h = max(context / 2, 1), so that it is computed anew after every h tokens, from at least context / 2
//   tokens. The tokens that it is computed from depend on n alone, not on how many of them the prompt has.
// - Errors: Error for inputs that do not fit and for scores that are no log-probabilities. Exceptions of the scorer and
//   of the queue end the call.

/// A text to continue.
struct GenerationInput {
  std::int64_t id = 0;            // identifies the text to the caller
  Tokens prompt = {};             // the text, at least one token
  std::int64_t samples = 1;       // continuations
  std::int64_t max_tokens = 1;    // most tokens of a continuation, the end token included; at least 1
  std::int64_t context = 0;       // most tokens that the model can have at a time; 0: no limit
  SamplingOptions sampling = {};  // how each token is drawn
  double repetition_penalty = 1;  // factor of the log-probabilities of tokens that the text has; at least 1
  bool ignore_end = false;        // whether the end token never follows
  std::uint64_t seed = 1;
};

/// Why a continuation ended.
enum class FinishReason {
  kEnd,    // the model gave the end token
  kStop,   // the caller's rule, such as a stop string
  kLength  // it has max_tokens tokens
};

inline constexpr auto enum_names(FinishReason) {
  return std::array{EnumName{FinishReason::kEnd, "end"}, EnumName{FinishReason::kStop, "stop"},
                    EnumName{FinishReason::kLength, "length"}};
}

/// The tokens that may continue texts.
struct GenerationRules {
  std::vector<std::uint8_t> allowed;          // [vocabulary]: 1 for tokens that may follow, the end tokens among them
  std::vector<std::int64_t> end_tokens = {};  // at least one; each ends a continuation, which does not contain it

  bool is_end(std::int64_t token) const { return std::ranges::find(end_tokens, token) != end_tokens.end(); }
};

/// Supplies texts and receives their continuations.
class GenerationQueue {
 public:
  virtual ~GenerationQueue() = default;

  /// Returns the next text; nullopt at the end, or if none is available yet and the call `is_busy` with others.
  virtual std::optional<GenerationInput> next(bool is_busy) = 0;

  /// Receives the next token of a continuation, which is never the end token. Returns whether the continuation goes on;
  /// if not, its reason is FinishReason::kStop.
  virtual bool put_token(std::int64_t id, std::int64_t sample, std::int64_t token) = 0;

  /// Receives the end of a continuation.
  virtual void put_end(std::int64_t id, std::int64_t sample, FinishReason reason) = 0;

  /// Returns whether generate() shall return now, without the ends of the texts that it has. Called before each step.
  virtual bool is_stopped() const { return false; }
};

/// Continues texts until the queue is at its end or stopped. At most `capacity` samples are computed at a time; a text
/// with more samples is computed alone.
void generate(Scorer& scorer, GenerationQueue& queue, const GenerationRules& rules, std::int64_t capacity = 32);

}  // namespace edgewise
