// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/translate/markup.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Translates texts of one line each sentence by sentence (text_translator.h), with alignments, for translate_markup.
/// The language of the texts is that of TextOptions; empty: the translator's input language. Throws Error if the
/// translator was made without TranslatorOptions::alignment, and as Translator::translate does.
std::vector<AlignedTranslation> translate_aligned(Translator& translator, std::span<const std::string> texts,
                                                  std::string_view language = {});

}  // namespace edgewise
