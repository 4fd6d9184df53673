// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/tokenizer.h"

#include <cstdint>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kSeparated = ",.!?";
constexpr std::string_view kMarks = "!?";

bool is_one_of(std::string_view characters, char character) {
  return characters.find(character) != std::string_view::npos;
}

std::string replace_no_break_spaces(std::string_view text) {
  constexpr char32_t kNoBreakSpace = 0xA0;
  constexpr char32_t kNarrowNoBreakSpace = 0x202F;
  std::string plain;
  plain.reserve(text.size());
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (point.value == kNoBreakSpace || point.value == kNarrowNoBreakSpace) {
      plain += ' ';
    } else {
      plain += text.substr(offset, point.size > 0 ? point.size : 1);
    }
  });
  return plain;
}

}  // namespace

std::string separate_punctuation(std::string_view text) {
  const std::string plain = replace_no_break_spaces(text);
  std::string separated;
  separated.reserve(plain.size() + plain.size() / 8);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > 0 && plain[i - 1] != ' ' && is_one_of(kSeparated, plain[i])) separated += ' ';
    separated += plain[i];
  }
  return separated;
}

std::string join_punctuation(std::string_view text, MarkSpacing marks) {
  std::string joined;
  joined.reserve(text.size());
  for (const char character : text) {
    if (is_one_of(kSeparated, character) && joined.ends_with(' ')) {
      const char before = joined.size() > 1 ? joined[joined.size() - 2] : ' ';
      const bool opens_marks = is_one_of(kMarks, character) && !is_one_of(kMarks, before);
      if (marks == MarkSpacing::kClose || !opens_marks) joined.pop_back();
    }
    joined += character;
  }
  return joined;
}

MarkSpacing mark_spacing_of(const std::vector<std::span<const std::string>>& sides) {
  std::int64_t apart = 0;
  std::int64_t close = 0;
  for (const auto& sentences : sides) {
    for (const std::string& sentence : sentences) {
      const std::string plain = replace_no_break_spaces(sentence);
      for (std::size_t i = 1; i < plain.size(); ++i) {
        if (!is_one_of(kMarks, plain[i]) || is_one_of(kMarks, plain[i - 1])) continue;
        ++(plain[i - 1] == ' ' ? apart : close);
      }
    }
  }
  return apart > close ? MarkSpacing::kApart : MarkSpacing::kClose;
}

std::vector<std::string_view> split_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    characters.push_back(text.substr(offset, point.size > 0 ? point.size : 1));
  });
  return characters;
}

std::string join_words(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

}  // namespace edgewise
