// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns a vocabulary of the words of a text.
inline std::shared_ptr<const Vocabulary> make_word_vocabulary(const std::string& text) {
  const std::vector<std::string> sentences = {text};
  return build_vocabulary({std::span(sentences)});
}

}  // namespace edgewise
