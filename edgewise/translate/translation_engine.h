// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "edgewise/search/search.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_codec.h"
#include "edgewise/translate/translator_options.h"

namespace edgewise {

/// A model or an ensemble, ready for translating. Copies share the packed parameters.
struct LoadedModels {
  TextCodec codec;
  SearchOptions search;  // options of the first model's config
  ScorerFactory make_scorer;
};

/// Packs models from read_models; several are an ensemble. Of the options, device, precision, recorded_heads and
/// stop have an effect. Throws Error for an empty list, and StopException if options.stop is set meanwhile.
LoadedModels load_models(std::vector<ModelFiles> models, const TranslatorOptions& options);

/// The text codec, the search options and the scorers of a model or an ensemble: what translating needs apart from a
/// queue of sentences. Threads may call all functions at the same time.
class TranslationEngine {
 public:
  /// See the constructors of Translator.
  TranslationEngine(std::vector<ModelFiles> models, const TranslatorOptions& options);
  TranslationEngine(LoadedModels models, TranslatorOptions options);
  TranslationEngine(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options);

  const TextCodec& codec() const { return codec_; }
  const SearchOptions& search_options() const { return search_; }
  const TranslatorOptions& options() const { return options_; }

  /// Converts a sentence as TextCodec::encode does; its parts are inputs of a queue.
  TokenizedSentence encode(const TranslationRequest& request) const {
    return codec_.encode(request, options_.long_inputs);
  }

  /// Searches the inputs of a queue until the queue is at its end or stopped, on options().threads threads and with a
  /// scorer that no other call uses meanwhile. A scorer whose search threw an exception is not used again.
  void run(SearchQueue& queue);

 private:
  void apply_options();
  void apply_vocabulary_rules();
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
