// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Languages have codes of BCP 47, as short as possible: `de`, `pt-BR`, `sr-Latn`. Chinese always has its script:
// `zh-Hans`, `zh-Hant`.

namespace edgewise {

/// Returns the code of a language that a client or a model calls `name`: `de` for `DE`, `deu`, `deu_Latn`, `__de__` and
/// `>>deu<<`; `pt-BR` for `pb`, `zh-Hans` for `zh` and `zho_Hans`, `zh-Hant` for `zt` and `zh-TW`. Returns nothing for
/// text that has not the form of a code, and for a pair of languages: `en-de` and `EN-FR` name two, `en-us`, `pt-br`
/// and `en-DE` a language and a region.
std::optional<std::string> find_language_code(std::string_view name);

/// Returns the code, and behind it the codes without region and without script, which are less exact: for `pt-BR`,
/// `pt`. The text must be a result of find_language_code.
std::vector<std::string> broader_codes(const std::string& code);

/// Returns the name in English: `Portuguese (Brazil)`; the code itself for an unknown language.
std::string language_name(const std::string& code);

}  // namespace edgewise
