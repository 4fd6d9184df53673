// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/tokenizer/split_pattern.h"
#include "edgewise/text/unicode.h"

// The contents of a tokenizer.json of Hugging Face's tokenizers with a model of byte pairs, as plain data. Sequences of
// components are flat lists of steps. docs/models.md lists the components.

namespace edgewise {

/// A token whose text is found before a text is normalised and split.
struct AddedToken {
  std::int64_t number = 0;
  std::string text;
  bool is_word = false;     // whether letters and digits beside the text prevent the token
  bool takes_left = false;  // whether white space to the left of the text belongs to the token
  bool takes_right = false;
  bool is_normalized = false;  // whether the token is found in the normalised text
  bool is_special = false;     // whether decoding omits the token
};

enum class NormalizerKind { kNormalForm, kLowercase, kStrip, kReplace, kPrepend };

struct NormalizerStep {
  NormalizerKind kind = NormalizerKind::kNormalForm;
  NormalForm form = NormalForm::kNfc;
  bool strips_left = true;
  bool strips_right = true;
  std::string from = {};  // the text that is replaced
  std::string to = {};    // the text that replaces it, or that is prepended
};

enum class SplitterKind { kByteLevel, kSplit, kDigits, kWords, kWhiteSpace, kPunctuation, kMetaspace };

/// The pieces that the matches of a pattern and the text between them become.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

inline constexpr auto enum_names(SplitBehavior) {
  return names_in_order<SplitBehavior>("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous");
}

/// The pieces that begin with a space symbol: every piece, the first of a text, or none.
enum class PrependScheme { kAlways, kFirst, kNever };

inline constexpr auto enum_names(PrependScheme) { return names_in_order<PrependScheme>("always", "first", "never"); }

struct SplitterStep {
  SplitterKind kind = SplitterKind::kByteLevel;
  bool prepends_space = true;                         // kByteLevel
  std::optional<SplitPattern> pattern = {};           // kByteLevel, kSplit: nothing if `text` is the pattern
  std::string text = {};                              // kSplit: the text to match; kMetaspace: the symbol for a space
  SplitBehavior behavior = SplitBehavior::kIsolated;  // kSplit, kDigits, kPunctuation
  bool is_inverted = false;                           // kSplit: whether matches and other text change places
  PrependScheme prepend = PrependScheme::kAlways;     // kMetaspace
  bool splits = true;                                 // kMetaspace: whether a piece ends before each space
};

enum class DecoderKind { kByteLevel, kByteFallback, kFuse, kStrip, kReplace, kMetaspace, kSuffix };

struct DecoderStep {
  DecoderKind kind = DecoderKind::kByteLevel;
  std::string from = {};   // kReplace, kMetaspace, kSuffix, and kStrip, which has one character
  std::string to = {};     // kReplace
  std::int64_t start = 0;  // kStrip: most characters at the beginning of a token
  std::int64_t stop = 0;
  bool keeps_first_space = false;  // kMetaspace
};

/// A model of byte pairs: tokens, and the pairs of tokens that are merged, most important first.
struct PairModel {
  std::vector<std::pair<std::string, std::int64_t>> tokens;
  std::vector<std::pair<std::string, std::string>> merges;
  std::optional<std::string> unknown;
  std::string prefix;  // before the characters inside a word
  std::string suffix;  // after the last character of a word
  bool fuses_unknown = false;
  bool has_byte_fallback = false;  // whether a character without a token becomes the tokens <0x00> to <0xFF>
  bool ignores_merges = false;     // whether a word that is a token becomes that token
};

struct TokenizerFile {
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitterStep> splitter;
  PairModel model;
  std::optional<std::vector<DecoderStep>> decoder;  // nothing: tokens are joined by spaces
  std::vector<std::string> before;                  // the special tokens around a text
  std::vector<std::string> after;
};

/// Parses a tokenizer.json. Errors begin with `where`. Throws Error for another model than BPE and for components,
/// options and regular expressions that Edgewise does not have, which it names.
TokenizerFile parse_tokenizer_file(std::string_view bytes, const std::string& where);

}  // namespace edgewise
