// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/text/sentence_splitter.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Translates texts sentence by sentence, with alignments, for translate_markup. Characters between sentences are kept.
/// Throws Error if the translator was made without TranslatorOptions::alignment, and as Translator::translate does.
std::vector<AlignedTranslation> translate_aligned(Translator& translator, const SentenceSplitter& splitter,
                                                  std::span<const std::string> texts);

/// Translates texts in the same way with one call of `translate`, whose translations have alignments; without a call if
/// the texts have no sentence.
std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate, const SentenceSplitter& splitter,
                                                  std::span<const std::string> texts,
                                                  const PairLanguages& languages = {});

}  // namespace edgewise
