// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/lookup_vocabulary.h"

namespace edgewise {

/// The content of vocabulary.txt.
struct LookupFile {
  VocabularyKind kind = VocabularyKind::kWords;
  TextPreprocessing preprocessing;
  std::vector<std::string> tokens;
};

/// Returns the text of vocabulary.txt, the file of words (`kind=words`), characters (`kind=characters`) and bytes
/// (`kind=bytes`): a header line, then a token on each line, so that token 0 is on line 2:
///
///     #edgewise-vocabulary 2 kind=words size=906 separate_punctuation=true marks=close
///     <pad>
///
/// Control characters, spaces, backslashes, and bytes that are no text are escaped as `\xHH`.
std::string write_lookup_file(const LookupFile& file);

/// Parses the text of vocabulary.txt. Throws Error, with the line number and the line, for text that
/// write_lookup_file() would not have written.
LookupFile parse_lookup_file(std::string_view bytes, std::string_view name);

}  // namespace edgewise
