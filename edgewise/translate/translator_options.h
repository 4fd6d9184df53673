// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

/// Options of a Translator. Search options that are not set come from the [search] section of the model's config.
struct TranslatorOptions {
  RuntimePrecision precision = RuntimePrecision::kFp32;  // number format of the model's matrix products
  std::optional<SearchOptions> search = {};              // all search options but the special tokens
  std::optional<std::int64_t> beam = {};                 // search.beam
  std::optional<std::int64_t> n_best = {};               // search.n_best
  std::optional<double> length_penalty = {};             // search.length_penalty
  // Most tokens of an input; by default as in training; 0: no limit but that of a model with learned positions.
  std::optional<std::int64_t> max_input = {};
  LongInputs long_inputs = LongInputs::kSplit;
  PairLanguages languages = {};                             // for a multilingual model; by default as in its config
  SearchCapacity capacity = {};                             // batch size of each worker
  int workers = 1;                                          // searches that run in parallel, each with its own scorer
  int threads = 0;                                          // threads of each worker; 0: num_threads() / workers
  bool alignment = false;                                   // whether translations have alignments and attention
  CrossHeads recorded_heads = {};                           // attention heads that alignments are made from
  bool allow_unknown = false;                               // whether `<unknown>` may appear in an output
  std::int64_t max_pending_sentences = 4096;                // sentences of a stream that are read and not yet returned
  std::int64_t max_pending_tokens = std::int64_t{1} << 20;  // input tokens of these sentences
  const StopRequest* stop = nullptr;  // read while weights are packed and in each step; may be null
};

}  // namespace edgewise
