// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_codec.h"
#include "edgewise/translate/translation.h"

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

class SentenceQueue;

/// Translates sentences with a trained model:
///
///     Translator translator("runs/demo", {.beam = 4});
///     std::string french = translator.translate("Hello !").outputs.front().text;
class Translator {
 public:
  /// Returns the next sentence; nullopt at the end.
  using SentenceSource = std::function<std::optional<TranslationRequest>()>;
  using TranslationSink = std::function<void(const Translation&)>;

  /// Loads a model directory, or the best model of a run directory. All constructors throw Error for options that
  /// contradict each other or do not fit the vocabulary, and StopException if options.stop is set meanwhile.
  explicit Translator(const std::filesystem::path& model, TranslatorOptions options = {});

  /// Translates with models from read_models; several are an ensemble. The first model's config has the defaults.
  explicit Translator(std::vector<ModelFiles> models, TranslatorOptions options = {});

  /// Translates with scorers that `make_scorer` makes when a worker first needs one, at most one for each worker. Does
  /// not use options.precision and options.recorded_heads.
  Translator(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options = {});

  /// Translates one sentence in UTF-8, which may contain line feeds.
  Translation translate(std::string_view sentence);
  std::vector<Translation> translate(std::span<const TranslationRequest> sentences);

  /// Translates the sentences of `next` until it returns nullopt, and calls `take` with the translations in the order
  /// of the sentences, each as soon as possible. `next` and `take` run in a thread each, so `next` may block; throws
  /// Error if the system refuses to start them. With fewer workers than asked for, translation only takes longer. An
  /// exception from `next` is thrown after `take` has received all sentences before it. Any other exception, also one
  /// from `take`, is thrown as soon as `next` returns; before, `interrupt` is called, which can make a waiting `next`
  /// return or throw. So is StopException, which all overloads throw if options.stop is set before the end.
  void translate(const SentenceSource& next, const TranslationSink& take, const std::function<void()>& interrupt = {});

  const SearchOptions& search_options() const { return search_; }

  /// Returns the languages of requests that name none.
  const PairLanguages& languages() const { return codec_.languages; }

 private:
  void apply_options();
  void apply_vocabulary_rules();
  void fill(const SentenceSource& next, SentenceQueue& queue) const;
  void drain(SentenceQueue& queue, const TranslationSink& take) const;
  void run_worker(SentenceQueue& queue);
  void start_other_workers(SentenceQueue& queue, std::vector<std::jthread>& threads);
  std::unique_ptr<Scorer> borrow_scorer();
  void return_scorer(std::unique_ptr<Scorer> scorer);

  TextCodec codec_;
  SearchOptions search_;
  ScorerFactory make_scorer_;
  TranslatorOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scorer>> idle_scorers_;
};

}  // namespace edgewise
