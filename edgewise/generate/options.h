// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/search/generation.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// How a text is continued. The sampling options have the meaning of SamplingOptions.
struct GenerateOptions {
  std::int64_t max_tokens = 256;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  std::int64_t samples = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> stop = {};
  bool ignore_end = false;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("max_tokens", self.max_tokens, "most tokens of a continuation", at_least(1).at_most(1e9));
    field("temperature", self.temperature,
          "divisor of log-probabilities; below 1 favours likely tokens; 0: always the likeliest token",
          at_least(0).at_most(1000));
    field("top_k", self.top_k, "number of most likely tokens to draw from; 0: all tokens", range("top_k"));
    field("top_p", self.top_p, "draw from the most likely tokens that together have this probability; 1: all tokens",
          range("top_p"));
    field("min_p", self.min_p,
          "draw from the tokens that are at least min_p times as likely as the likeliest; 0: all tokens",
          range("min_p"));
    field("repetition_penalty", self.repetition_penalty,
          "factor of the log-probability of tokens that the prompt or the continuation contains; 1: no penalty",
          range("repetition_penalty"));
    field("samples", self.samples, "number of continuations, which share the computation of the prompt",
          at_least(1).at_most(1000));
    field("seed", self.seed, "seed of the random numbers: the same seed gives the same text");
    field("stop", self.stop, "strings that end a continuation, which does not contain them");
    field("ignore_end", self.ignore_end, "never draw the end token, so that a continuation has max_tokens tokens");
  }

 private:
  static Range range(const char* name) { return range_of<SearchOptions>(name); }
};

/// Throws Error, in the name of `caller`, for options out of their range, and for stop strings that StopStrings
/// refuses.
void check_generate_options(const GenerateOptions& options, const char* caller);

/// How a Generator computes.
struct GeneratorOptions {
  RuntimePrecision precision = RuntimePrecision::kFp32;
  std::int64_t capacity = 32;         // continuations that are computed at a time
  int threads = 0;                    // 0: num_threads() of the thread that makes the Generator
  const StopRequest* stop = nullptr;  // read while weights are packed and before each step; may be null

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("precision", self.precision, "number format of matrix products");
    field("batch", self.capacity, "most continuations that are computed at a time", at_least(1).at_most(1e6));
    field("threads", self.threads, "threads that compute; 0: OMP_NUM_THREADS, or the number of available cores",
          at_least(0).at_most(1024));
  }
};

}  // namespace edgewise
