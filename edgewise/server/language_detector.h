// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/server/model_registry.h"

namespace edgewise {

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
