// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/json.h"
#include "edgewise/translate/translation.h"

namespace edgewise {

/// The parts of a translation that its JSON may have.
struct TranslationParts {
  bool has_alignments = false;
  bool has_attention = false;  // attention weights
};

/// Adds the members of a translation: `input_tokens`, `outputs`, and `was_cut` if the input was cut. An output has
/// `text`, `score`, `log_probability` and `tokens`, `steps` if its model halts, and the requested parts.
void add_translation(JsonObject& json, const Translation& translation, const TranslationParts& parts);

}  // namespace edgewise
