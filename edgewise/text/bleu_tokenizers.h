// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

/// Tokenizers of BLEU under sacreBLEU's names: 13a, the rules of WMT's mteval-v13a for European languages; intl, which
/// splits at Unicode punctuation and symbols (mteval-v14 --international-tokenization); none, white space alone.
enum class BleuTokenizer { k13a, kIntl, kNone };

inline constexpr auto enum_names(BleuTokenizer) {
  return std::array{EnumName{BleuTokenizer::k13a, "13a"}, EnumName{BleuTokenizer::kIntl, "intl"},
                    EnumName{BleuTokenizer::kNone, "none"}};
}

/// Returns the line with white space between its tokens; there may be several spaces.
std::string tokenize_for_bleu(std::string_view line, BleuTokenizer tokenizer);

}  // namespace edgewise
