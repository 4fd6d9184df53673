// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/lookup_vocabulary.h"

namespace edgewise {

struct VocabularyFile {
  VocabularyKind kind = VocabularyKind::kWords;
  TextPreprocessing preprocessing;
  std::vector<std::string> tokens;
};

/// Returns the text of vocabulary.txt: a header line, then a token on each line, so that token 0 is on line 2:
///
///     #edgewise-vocabulary 2 kind=words size=906 separate_punctuation=true marks=close
///     <pad>
///
/// Control characters, spaces and backslashes are escaped as `\xHH`.
std::string write_vocabulary_file(const VocabularyFile& file);

/// Throws Error, with line number and text, for a file that write_vocabulary_file would not have written.
VocabularyFile parse_vocabulary_file(std::string_view bytes, std::string_view name);

}  // namespace edgewise
