// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/token_ranges.h"

#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxSkipped = 256;  // letters between two tokens that are searched for the second one
constexpr char32_t kSpaceCodePoint = U'\u2581';

/// A letter of the text: a code point after folding, and the bytes of the text that it comes from.
struct Letter {
  char32_t value = 0;
  ByteRange bytes = {};
  bool begins_word = false;  // whether white space or the beginning of the text is in front of it
};

class Folding {
 public:
  Folding() {
    UErrorCode status = U_ZERO_ERROR;
    casefold_ = icu::Normalizer2::getNFKCCasefoldInstance(status);
    decomposition_ = icu::Normalizer2::getNFDInstance(status);
    check(U_SUCCESS(status) != 0, "find_token_ranges: ICU has no data for NFKC_Casefold, needs them");
  }

  /// Appends the letters of a text. Each code point is folded on its own, so it is decomposed too.
  void append(std::vector<Letter>& letters, std::string_view text) const {
    bool begins_word = true;
    for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
      if (point.size == 0) return;
      if (is_space(point.value) || point.value == kSpaceCodePoint) {
        begins_word = true;
        return;
      }
      const ByteRange bytes = {offset, offset + point.size};
      if (point.value < 0x80) {
        const bool is_capital = point.value >= U'A' && point.value <= U'Z';
        letters.push_back({is_capital ? point.value + (U'a' - U'A') : point.value, bytes, begins_word});
        begins_word = false;
        return;
      }
      const icu::UnicodeString folded = fold(point.value);
      for (std::int32_t i = 0; i < folded.length(); i = folded.moveIndex32(i, 1)) {
        const auto value = static_cast<char32_t>(folded.char32At(i));
        if (is_space(value)) continue;
        letters.push_back({value, bytes, begins_word});
        begins_word = false;
      }
    });
  }

 private:
  icu::UnicodeString fold(char32_t value) const {
    UErrorCode status = U_ZERO_ERROR;
    const icu::UnicodeString single(static_cast<UChar32>(value));
    return decomposition_->normalize(casefold_->normalize(single, status), status);
  }

  const icu::Normalizer2* casefold_ = nullptr;
  const icu::Normalizer2* decomposition_ = nullptr;
};

class TokenMatcher {
 public:
  TokenMatcher(std::string_view text, std::span<const std::string> tokens) : text_(text) {
    const Folding folding;
    folding.append(letters_, text);
    for (const std::string& token : tokens) {
      folding.append(tokens_.emplace_back(), token);
      needs_space_.push_back(token.starts_with("\u2581"));
    }
  }

  std::vector<ByteRange> match() {
    std::vector<ByteRange> ranges(tokens_.size());
    std::size_t missing = 0;  // tokens in front of this one that are not in the text
    std::size_t position = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].empty() && missing > 0) {
        ++missing;
        continue;
      }
      const std::size_t found = find(i, position, missing > 0);
      if (found == letters_.size() && !tokens_[i].empty()) {
        ++missing;
        continue;
      }
      fill(ranges, i - missing, i, {position, found});
      missing = 0;
      position = found + tokens_[i].size();
      ranges[i] = bytes_of({found, position});
    }
    fill(ranges, tokens_.size() - missing, tokens_.size(), {position, letters_.size()});
    separate(ranges);
    return ranges;
  }

 private:
  /// Letters, not bytes.
  using LetterRange = ByteRange;

  bool is_at(std::size_t token, std::size_t position) const {
    const std::vector<Letter>& letters = tokens_[token];
    if (letters_.size() - position < letters.size()) return false;
    return std::equal(letters.begin(), letters.end(), letters_.begin() + static_cast<std::ptrdiff_t>(position),
                      [](const Letter& a, const Letter& b) { return a.value == b.value; });
  }

  /// Whether the next token, if there is one, is after the token.
  bool is_followed(std::size_t token, std::size_t position) const {
    return token + 1 == tokens_.size() || is_at(token + 1, position + tokens_[token].size());
  }

  /// Returns where the token is, or the number of letters if it is not in the text. Prefers a place that the next token
  /// follows, because a short token may also be a part of the text that belongs to a missing one.
  std::size_t find(std::size_t token, std::size_t position, bool is_after_missing) const {
    if (!is_after_missing && is_at(token, position)) return position;
    const std::size_t end = std::min(letters_.size(), position + kMaxSkipped);
    std::size_t first = letters_.size();
    for (std::size_t i = position; i < end; ++i) {
      if ((needs_space_[token] && !letters_[i].begins_word) || !is_at(token, i)) continue;
      if (is_followed(token, i)) return i;
      if (first == letters_.size()) first = i;
    }
    return first;
  }

  /// Gives letters to the tokens from `first` to before `last`.
  void fill(std::vector<ByteRange>& ranges, std::size_t first, std::size_t last, LetterRange letters) const {
    if (first == last) return;
    ranges[first] = bytes_of(letters);
    for (std::size_t i = first + 1; i < last; ++i) ranges[i] = {ranges[first].end, ranges[first].end};
  }

  ByteRange bytes_of(LetterRange letters) const {
    if (letters.size() == 0) {
      const std::size_t offset = letters.begin < letters_.size() ? letters_[letters.begin].bytes.begin : text_.size();
      return {offset, offset};
    }
    return {letters_[letters.begin].bytes.begin, letters_[letters.end - 1].bytes.end};
  }

  /// Gives a code point whose letters are in several tokens to the first one.
  static void separate(std::vector<ByteRange>& ranges) {
    std::size_t end = 0;
    for (ByteRange& range : ranges) {
      range.begin = std::max(range.begin, end);
      range.end = std::max(range.end, range.begin);
      end = range.end;
    }
  }

  std::string_view text_;
  std::vector<Letter> letters_;
  std::vector<std::vector<Letter>> tokens_;
  std::vector<bool> needs_space_;
};

}  // namespace

std::vector<ByteRange> find_token_ranges(std::string_view text, std::span<const std::string> tokens) {
  return TokenMatcher(text, tokens).match();
}

}  // namespace edgewise
