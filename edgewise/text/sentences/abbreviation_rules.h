// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "edgewise/base/files/embedded_file.h"

namespace edgewise {

/// A set of words that is searched without copying the word.
class WordSet {
 public:
  void insert(std::string_view word) { words_.emplace(word); }
  bool contains(std::string_view word) const { return words_.find(word) != words_.end(); }
  bool is_empty() const { return words_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> words_;
};

/// The words of a language that show whether a full stop ends a sentence. Each member is a section of the language's
/// file in edgewise/text/sentences/abbreviations/, whose beginning explains the sections. Abbreviations are without
/// their last full stop.
struct AbbreviationRules {
  WordSet inside;                     // abbreviations that do not end a sentence: `Mr`
  std::vector<std::string> suffixes;  // ends of words in `inside_or_end`: `str` for `Hauptstr.`
  WordSet inside_or_end;              // abbreviations that end a sentence if a word of `first_words` follows: `etc`
  WordSet before_numbers;             // abbreviations if a number follows: `No`
  WordSet partial;                    // beginnings of abbreviations with several full stops: `z` for `z.B.`
  WordSet first_words;                // words that begin with a capital at the beginning of a sentence only: `The`
  WordSet before_ordinals;            // words before an ordinal number; none if ordinals are written without a stop
  WordSet after_ordinals;             // words after an ordinal number: `Mai`
  WordSet before_letters;             // words before a letter that ends a sentence: `vitamin`
};

/// Returns the rules of a language, or those of most languages if it has no list. The code is one that SentenceSplitter
/// accepts. The result lives until the end of the program.
const AbbreviationRules& find_abbreviation_rules(std::string_view language);

/// Parses the text of a file. Throws Error, which calls the file `name`, for a section that does not exist and for a
/// word outside a section.
AbbreviationRules parse_abbreviation_rules(std::string_view text, std::string_view name);

/// Returns the files of edgewise/text/sentences/abbreviations/, in ascending order of their names.
std::span<const EmbeddedFile> abbreviation_files();

}  // namespace edgewise
