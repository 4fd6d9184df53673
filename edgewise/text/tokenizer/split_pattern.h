// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_range.h"

namespace edgewise {

/// A regular expression by which well-known tokenizers split a text into words. Its matches cover each text.
enum class SplitPattern {
  kGpt2,    // GPT-2 and its successors, and every ByteLevel component
  kLlama3,  // Llama 3 and GPT-4: contractions in any case, at most three digits
  kQwen2    // Qwen 2 and later: likewise, each digit alone
};

/// Returns the pattern with this text; nothing for another regular expression.
std::optional<SplitPattern> find_split_pattern(std::string_view expression);

/// Returns the matches of the pattern in a text in UTF-8, one after another. Takes linear time.
std::vector<ByteRange> match_words(std::string_view text, SplitPattern pattern);

}  // namespace edgewise
