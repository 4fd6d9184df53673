// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/text/sentence_splitter.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Translates texts sentence by sentence, with alignments, for translate_markup. Characters between sentences are kept.
/// Throws Error if the translator was made without TranslatorOptions::alignment, and as Translator::translate does.
std::vector<AlignedTranslation> translate_aligned(Translator& translator, const SentenceSplitter& splitter,
                                                  std::span<const std::string> texts);

}  // namespace edgewise
