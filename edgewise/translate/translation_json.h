// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/json.h"
#include "edgewise/text/byte_range.h"
#include "edgewise/translate/translation.h"

namespace edgewise {

/// The members of a translation that its JSON may have.
struct TranslationMembers {
  bool has_alignments = false;
  bool has_attention = false;     // attention weights
  bool has_token_ranges = false;  // bytes of each token in the text of its output
};

/// Returns `[begin, end]`.
std::string range_json(const ByteRange& range);

/// Returns the list of the bytes of each token in a text (find_token_ranges).
std::string token_ranges_json(std::string_view text, std::span<const std::string> tokens);

/// Adds the members of a translation: `input_tokens`, `outputs`, and `was_cut` if the input was cut. An output has
/// `text`, `score`, `log_probability` and `tokens`, `steps` if its model halts, and the requested members.
void add_translation(JsonObject& json, const Translation& translation, const TranslationMembers& members);

}  // namespace edgewise
