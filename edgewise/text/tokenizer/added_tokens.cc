// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/added_tokens.h"

#include <algorithm>

#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

std::uint64_t node_key(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
}

bool has_letters_beside(std::string_view text, ByteRange bytes) {
  const bool before = bytes.begin > 0 && is_regex_word(text_point_before(text, bytes.begin).value);
  const bool after = bytes.end < text.size() && is_regex_word(text_point_at(text, bytes.end).value);
  return before || after;
}

/// Returns the offset where the white space before `end` begins, at least `first`.
std::size_t begin_of_spaces(std::string_view text, std::size_t first, std::size_t end) {
  while (end > first) {
    const CodePoint point = text_point_before(text, end);
    if (!is_white_space(point.value)) break;
    end -= point.size;
  }
  return end;
}

std::size_t end_of_spaces(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const CodePoint point = text_point_at(text, begin);
    if (!is_white_space(point.value)) break;
    begin += point.size;
  }
  return begin;
}

}  // namespace

void AddedTokenFinder::add(std::string_view text, const AddedToken& token) {
  if (text.empty()) return;
  std::uint32_t node = 0;
  for (const char byte : text) {
    const auto next = static_cast<std::uint32_t>(nodes_.size() + 1);
    node = nodes_.emplace(node_key(node, byte), next).first->second;
  }
  token_of_.emplace(node, tokens_.size());
  tokens_.push_back(token);
}

AddedTokenFinder::Found AddedTokenFinder::find(std::string_view text, std::size_t begin) const {
  Found longest;
  std::uint32_t node = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const auto next = nodes_.find(node_key(node, text[i]));
    if (next == nodes_.end()) break;
    node = next->second;
    if (const auto token = token_of_.find(node); token != token_of_.end()) longest = {&tokens_[token->second], i + 1};
  }
  return longest;
}

std::vector<TextSection> AddedTokenFinder::split(std::string_view text) const {
  std::vector<TextSection> sections;
  std::size_t done = 0;  // end of the last section
  for (std::size_t begin = 0; begin < text.size();) {
    const Found found = find(text, begin);
    if (found.token == nullptr) {
      ++begin;
      continue;
    }
    ByteRange bytes = {begin, found.end};
    begin = found.end;
    if (found.token->is_word && has_letters_beside(text, bytes)) continue;
    if (found.token->takes_left) bytes.begin = begin_of_spaces(text, std::min(done, bytes.begin), bytes.begin);
    if (found.token->takes_right) bytes.end = end_of_spaces(text, bytes.end);
    if (bytes.begin > done) sections.push_back({.bytes = {done, bytes.begin}});
    sections.push_back({.bytes = bytes, .token = found.token->number});
    done = std::max(done, bytes.end);
  }
  if (done < text.size()) sections.push_back({.bytes = {done, text.size()}});
  return sections;
}

}  // namespace edgewise
