// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/long_sentences.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool ends_sentence(char32_t code_point) {
  constexpr std::array<char32_t, 8> kEnds = {U'.', U'!', U'?', U'…', U'。', U'！', U'？', U'।'};
  return std::ranges::find(kEnds, code_point) != kEnds.end();
}

/// Closing quotes and brackets belong to the sentence before them, behind a space too: « Stop. »
bool closes(char32_t code_point) {
  constexpr std::array<char32_t, 6> kClosing = {U'»', U'”', U'’', U')', U']', U'"'};
  return std::ranges::find(kClosing, code_point) != kClosing.end();
}

/// The text in pieces that end with a sentence and its white space; together they are the text.
std::vector<std::string_view> sentences_of(std::string_view text) {
  enum class State { kInside, kBehindEnd, kBehindSpace } state = State::kInside;
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (state != State::kInside && is_space(point.value)) {
      state = State::kBehindSpace;
    } else if (state == State::kBehindSpace && !closes(point.value)) {
      sentences.push_back(text.substr(begin, offset - begin));
      begin = offset;
      state = State::kInside;
    }
    if (ends_sentence(point.value)) {
      state = State::kBehindEnd;
    } else if (closes(point.value)) {
      if (state == State::kBehindSpace) state = State::kBehindEnd;
    } else if (state == State::kBehindEnd && !is_space(point.value)) {
      state = State::kInside;
    }
  });
  sentences.push_back(text.substr(begin));
  return sentences;
}

/// The begin of the code point at an offset.
std::size_t boundary_at(std::string_view text, std::size_t offset) {
  while (offset > 0 && offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) --offset;
  return offset;
}

/// Where to part a text of more than one code point: behind white space near its middle, or else between the code
/// points there.
std::size_t middle_of(std::string_view text) {
  constexpr std::size_t kNear = 4096;  // words are shorter; and who splits megabytes looks at few of them
  const std::size_t middle = text.size() / 2;
  const std::size_t begin = boundary_at(text, middle - std::min(middle, kNear));
  const std::string_view around = text.substr(begin, 2 * kNear);
  std::size_t of_space = 0;
  std::size_t of_any = 0;
  const auto distance = [&](std::size_t offset) { return offset > middle ? offset - middle : middle - offset; };
  for_each_code_point(around, [&](CodePoint point, std::size_t offset) {
    const std::size_t behind = begin + offset + point.size;
    if (point.size == 0 || behind >= text.size()) return;  // the window's end may cut one
    if (distance(behind) <= distance(of_any)) of_any = behind;
    if (is_space(point.value) && distance(behind) <= distance(of_space)) of_space = behind;
  });
  return of_space > 0 ? of_space : of_any;
}

class Fitting {
 public:
  Fitting(const Vocabulary& vocabulary, std::int64_t most) : vocabulary_(vocabulary), most_(most) {}

  std::vector<Tokens> run(std::string_view text) && {
    if (add_whole(text)) return std::move(pieces_);
    for (const std::string_view sentence : sentences_of(text)) add(sentence);
    return std::move(pieces_);
  }

 private:
  /// False if it is too long.
  bool add_whole(std::string_view text) {
    if (text.size() > kMostBytesOfAToken * static_cast<std::size_t>(most_)) return false;
    Tokens tokens = vocabulary_.encode(text);
    if (std::ssize(tokens) > most_) return false;
    if (!tokens.empty()) pieces_.push_back(std::move(tokens));
    return true;
  }

  void add(std::string_view sentence) {
    if (add_whole(sentence)) return;
    const std::size_t middle = middle_of(sentence);
    check(middle > 0, "split_to_fit: {} is a single character of {} tokens, at most {} are allowed",
          in_quotes(sentence), vocabulary_.encode(sentence).size(), most_);
    add(sentence.substr(0, middle));
    add(sentence.substr(middle));
  }

  const Vocabulary& vocabulary_;
  std::int64_t most_;
  std::vector<Tokens> pieces_;
};

}  // namespace

std::vector<Tokens> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t most) {
  return Fitting(vocabulary, most).run(text);
}

}  // namespace edgewise
