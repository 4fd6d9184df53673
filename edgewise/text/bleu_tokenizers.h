// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

/// How BLEU finds words, named as sacreBLEU names it: by the rules of WMT's mteval-v13a for European languages, by
/// Unicode's punctuation and symbols (mteval-v14 --international-tokenization), or at white space alone.
enum class BleuTokenizer { k13a, kIntl, kNone };

inline constexpr auto enum_names(BleuTokenizer) {
  return std::array{EnumName<BleuTokenizer>{BleuTokenizer::k13a, "13a"},
                    EnumName<BleuTokenizer>{BleuTokenizer::kIntl, "intl"},
                    EnumName<BleuTokenizer>{BleuTokenizer::kNone, "none"}};
}

/// The line with white space between its words, as many as there may be.
std::string tokenize_for_bleu(std::string_view line, BleuTokenizer tokenizer);

}  // namespace edgewise
