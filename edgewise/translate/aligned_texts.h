// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Translates texts of one line each sentence by sentence (text_translator.h), with alignments, for translate_markup.
/// The language of the texts is that of TextOptions; empty: the translator's input language. Throws Error if the
/// translator was made without TranslatorOptions::alignment, and as Translator::translate does.
std::vector<AlignedTranslation> translate_aligned(Translator& translator, std::span<const std::string> texts,
                                                  std::string_view language = {});

/// Translates texts in the same way with one call of `translate`, whose translations have alignments; without a call if
/// no sentence needs a translation. options.line_breaks has no effect.
std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate,
                                                  std::span<const std::string> texts, const TextOptions& options);

}  // namespace edgewise
