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

/// Returns whether the code point is a closing quote or bracket, which belongs to the sentence before it, also after a
/// space: « Stop. »
bool is_closing_mark(char32_t code_point) {
  constexpr std::array<char32_t, 6> kClosing = {U'»', U'”', U'’', U')', U']', U'"'};
  return std::ranges::find(kClosing, code_point) != kClosing.end();
}

/// Splits the text after the white space that follows each sentence. The concatenated results are the text.
std::vector<std::string_view> split_sentences(std::string_view text) {
  enum class State { kInside, kBehindEnd, kBehindSpace } state = State::kInside;
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (state != State::kInside && is_space(point.value)) {
      state = State::kBehindSpace;
    } else if (state == State::kBehindSpace && !is_closing_mark(point.value)) {
      sentences.push_back(text.substr(begin, offset - begin));
      begin = offset;
      state = State::kInside;
    }
    if (ends_sentence(point.value)) {
      state = State::kBehindEnd;
    } else if (is_closing_mark(point.value)) {
      if (state == State::kBehindSpace) state = State::kBehindEnd;
    } else if (state == State::kBehindEnd && !is_space(point.value)) {
      state = State::kInside;
    }
  });
  sentences.push_back(text.substr(begin));
  return sentences;
}

/// Returns the offset at which the code point at `offset` begins.
std::size_t align_to_code_point(std::string_view text, std::size_t offset) {
  while (offset > 0 && offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) --offset;
  return offset;
}

/// Returns where to split a text of more than one code point: after white space near its middle, or else between the
/// two code points nearest to the middle.
std::size_t find_middle(std::string_view text) {
  constexpr std::size_t kNear = 4096;  // longer than words, and bounds the cost for texts of megabytes
  const std::size_t middle = text.size() / 2;
  const std::size_t begin = align_to_code_point(text, middle - std::min(middle, kNear));
  const std::string_view around = text.substr(begin, 2 * kNear);
  std::size_t best_space = 0;
  std::size_t best_any = 0;
  const auto distance = [&](std::size_t offset) { return offset > middle ? offset - middle : middle - offset; };
  for_each_code_point(around, [&](CodePoint point, std::size_t offset) {
    const std::size_t end = begin + offset + point.size;
    if (point.size == 0 || end >= text.size()) return;  // the window may end inside a code point
    if (distance(end) <= distance(best_any)) best_any = end;
    if (is_space(point.value) && distance(end) <= distance(best_space)) best_space = end;
  });
  return best_space > 0 ? best_space : best_any;
}

class TextSplitter {
 public:
  TextSplitter(const Vocabulary& vocabulary, std::int64_t max_tokens)
      : vocabulary_(vocabulary), max_tokens_(max_tokens) {}

  std::vector<Tokens> run(std::string_view text) && {
    if (try_add(text)) return std::move(parts_);
    for (const std::string_view sentence : split_sentences(text)) add(sentence);
    return std::move(parts_);
  }

 private:
  /// Adds the text as one part. Returns false, without adding the text, if it is too long.
  bool try_add(std::string_view text) {
    if (text.size() > kMaxBytesPerToken * static_cast<std::size_t>(max_tokens_)) return false;
    Tokens tokens = vocabulary_.encode(text);
    if (std::ssize(tokens) > max_tokens_) return false;
    if (!tokens.empty()) parts_.push_back(std::move(tokens));
    return true;
  }

  void add(std::string_view sentence) {
    if (try_add(sentence)) return;
    const std::size_t middle = find_middle(sentence);
    check(middle > 0, "split_to_fit: {} is a single character of {} tokens, at most {} are allowed", quote(sentence),
          vocabulary_.encode(sentence).size(), max_tokens_);
    add(sentence.substr(0, middle));
    add(sentence.substr(middle));
  }

  const Vocabulary& vocabulary_;
  std::int64_t max_tokens_;
  std::vector<Tokens> parts_;
};

}  // namespace

std::vector<Tokens> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t max_tokens) {
  return TextSplitter(vocabulary, max_tokens).run(text);
}

}  // namespace edgewise
