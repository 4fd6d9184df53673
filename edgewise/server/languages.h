// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/server/model_registry.h"

// Languages have codes of BCP 47, as short as possible: `de`, `pt-BR`, `sr-Latn`. Chinese always has its script:
// `zh-Hans`, `zh-Hant`.

namespace edgewise {

/// Returns the code of a language that a client or a model calls `name`: `de` for `DE`, `deu`, `deu_Latn`, `__de__` and
/// `>>deu<<`; `pt-BR` for `pb`, `zh-Hans` for `zh` and `zho_Hans`, `zh-Hant` for `zt` and `zh-TW`. Returns nothing for
/// text that has not the form of a code, and for a pair of languages: `en-de` and `EN-FR` name two, `en-us`, `pt-br`
/// and `en-DE` a language and a region.
std::optional<std::string> find_language_code(std::string_view name);

/// Returns the code, and after it the codes without region and without script, which are less exact: for `pt-BR`,
/// `pt`. The text must be a result of find_language_code.
std::vector<std::string> broader_codes(const std::string& code);

/// Returns the name in English: `Portuguese (Brazil)`; the code itself for an unknown language.
std::string language_name(const std::string& code);

struct DetectedLanguage {
  std::string code;       // a language of the server
  double confidence = 0;  // from 0 to 100
};

/// Returns the languages of a text in UTF-8 that the server has, most probable first, by CLD2. Texts of a few words are
/// often mistaken. If CLD2 finds none of the server's languages, returns one with confidence 0: English if the server
/// has it, or else the first language of its first model; nothing if it has no model. `is_html`: the tags in the text
/// are no words.
std::vector<DetectedLanguage> detect_languages(std::string_view text, const ServedLanguages& languages,
                                               bool is_html = false);

/// Returns the most probable language of each text. A text in which CLD2 finds none of the server's languages, such as
/// a number, has the language of all texts together, with confidence 0. The server must have a model.
std::vector<DetectedLanguage> detect_language_of_each(std::span<const std::string> texts,
                                                      const ServedLanguages& languages, bool is_html = false);

}  // namespace edgewise
