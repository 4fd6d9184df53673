// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/translate/text_translator.h"
#include "shared_translator.h"
#include "texts.h"

namespace edgewise::python {

/// Translates texts sentence by sentence. Call it with the GIL, which is released meanwhile.
Texts translate_plain(SharedTranslator& translator, Texts texts, TextOptions options);

/// Translates HTML documents in the same way; options.line_breaks has no effect.
Texts translate_documents(SharedTranslator& translator, Texts documents, TextOptions options);

}  // namespace edgewise::python
