// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/long_sentences.h"

#include <algorithm>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

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

  std::vector<FittingPart> run(std::string_view text, const SentenceSplitter& splitter) && {
    text_ = text;
    if (try_add(text)) return std::move(parts_);
    for (const ByteRange& span : splitter.split(text)) add(text.substr(span.begin, span.end - span.begin));
    return std::move(parts_);
  }

 private:
  /// Adds the text as one part. Returns false, without adding the text, if it is too long.
  bool try_add(std::string_view text) {
    if (text.size() > kMaxBytesPerToken * static_cast<std::size_t>(max_tokens_)) return false;
    Tokens tokens = vocabulary_.encode(text);
    if (std::ssize(tokens) > max_tokens_) return false;
    const auto begin = static_cast<std::size_t>(text.data() - text_.data());
    if (!tokens.empty()) parts_.push_back({std::move(tokens), {begin, begin + text.size()}});
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
  std::string_view text_;
  std::vector<FittingPart> parts_;
};

}  // namespace

std::vector<FittingPart> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t max_tokens,
                                      const SentenceSplitter& splitter) {
  return TextSplitter(vocabulary, max_tokens).run(text, splitter);
}

}  // namespace edgewise
