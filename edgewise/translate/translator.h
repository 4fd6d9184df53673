// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/translate/translation.h"
#include "edgewise/translate/translation_service.h"

namespace edgewise {

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
  explicit Translator(const std::filesystem::path& model, const TranslatorOptions& options = {});

  /// Translates with models from read_models; several are an ensemble. The first model's config has the defaults.
  explicit Translator(std::vector<ModelFiles> models, const TranslatorOptions& options = {});

  /// Translates with scorers that `make_scorer` makes when a worker first needs one, at most one for each worker. Does
  /// not use options.precision, options.attention_layer and options.attention_head.
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

  const SearchOptions& search_options() const { return engine_->search_options(); }

  /// Returns the languages of requests that name none.
  const PairLanguages& languages() const { return engine_->codec().languages; }

 private:
  CallOptions call_options() const;

  std::shared_ptr<TranslationEngine> engine_;
};

}  // namespace edgewise
