// SPDX-License-Identifier: Apache-2.0
#include "translated_texts.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"
#include "service_call.h"

namespace edgewise::python {
namespace {

/// Returns a function that translates sentences; a text has one output of each.
TranslateSentences translate_by(std::shared_ptr<TranslationService> service) {
  return [service = std::move(service)](std::span<const TranslationRequest> requests) {
    return translate_all(service, requests, {.n_best = 1});
  };
}

void set_language(TextOptions& options, const SharedTranslator& translator) {
  if (!options.language.empty()) return;
  options.language = options.languages.input.empty() ? translator.languages().input : options.languages.input;
}

}  // namespace

Texts translate_plain(SharedTranslator& translator, Texts texts, TextOptions options) {
  set_language(options, translator);
  const TranslateSentences translate = translate_by(translator.service(Alignments::kNone));
  const nb::gil_scoped_release release;
  std::vector<TextTranslation> translations = translate_texts(texts.texts, options, translate);
  for (std::size_t i = 0; i < translations.size(); ++i) texts.texts[i] = std::move(translations[i].text);
  return texts;
}

Texts translate_documents(SharedTranslator& translator, Texts documents, TextOptions options) {
  set_language(options, translator);
  const TranslateSentences translate = translate_by(translator.service(Alignments::kRequested));
  const nb::gil_scoped_release release;
  documents.texts = translate_markups(documents.texts, [&](std::span<const std::string> lines) {
    return translate_aligned(translate, lines, options);
  });
  return documents;
}

}  // namespace edgewise::python
