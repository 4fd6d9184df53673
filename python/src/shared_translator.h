// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/translate/translation_service.h"
#include "of_process.h"

namespace edgewise::python {

/// Whether translations have alignments, which cost time and memory.
enum class Alignments { kNone, kRequested };

/// A model with services that translate with it. Calls share the batches of a service; services share the model's
/// parameters.
class SharedTranslator {
 public:
  /// Starts the service without alignments. Throws Error as the constructors of Translator do.
  SharedTranslator(LoadedModels models, TranslatorOptions options);

  /// Returns a service of this process, and starts it if this is the first request. Call it with the GIL, so that one
  /// thread at a time does.
  std::shared_ptr<TranslationService> service(Alignments alignments);

  const TranslatorOptions& options() const { return options_; }
  const SearchOptions& search() const { return *options_.search; }

  /// Returns the languages of sentences that name none.
  const PairLanguages& languages() const { return models_.codec.languages; }

 private:
  LoadedModels models_;
  TranslatorOptions options_;
  OfProcess<std::array<std::shared_ptr<TranslationService>, 2>> services_;  // by Alignments
};

/// Loads models and packs them, which Ctrl-C can end. Search options are those of the first model's config, changed by
/// `change_search`, which is called with the GIL. Call it with the GIL, which is released meanwhile.
using ChangeSearch = std::function<SearchOptions(const SearchOptions& defaults)>;
std::unique_ptr<SharedTranslator> load_translator(const std::vector<std::string>& paths, TranslatorOptions options,
                                                  const ChangeSearch& change_search);

}  // namespace edgewise::python
