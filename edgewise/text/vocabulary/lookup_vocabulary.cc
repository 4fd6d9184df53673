// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/lookup_vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/lookup_file.h"

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

std::string preprocess(std::string_view sentence, const TextPreprocessing& preprocessing) {
  return preprocessing.separate_punctuation ? separate_punctuation(sentence) : std::string(sentence);
}

std::vector<std::string_view> split_bytes(std::string_view text) {
  std::vector<std::string_view> bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  return bytes;
}

std::vector<std::string_view> split(VocabularyKind kind, std::string_view text) {
  if (kind == VocabularyKind::kBytes) return split_bytes(text);
  return kind == VocabularyKind::kWords ? split_words(text) : split_characters(text);
}

/// Returns the special tokens and all bytes.
std::vector<std::string> list_bytes() {
  constexpr int kNumBytes = 256;
  std::vector<std::string> tokens(kSpecialTokens.begin(), kSpecialTokens.end());
  for (int byte = 0; byte < kNumBytes; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return tokens;
}

/// Returns the text of a token of bytes.
std::string byte_text(std::string_view token) {
  const auto byte = static_cast<unsigned char>(token.front());
  return token.size() > 1 || byte < 0x80 ? std::string(token) : fmt::format("<0x{:02X}>", byte);
}

bool is_special(std::string_view text) {
  return std::find(kSpecialTokens.begin(), kSpecialTokens.end(), text) != kSpecialTokens.end();
}

struct StringHash : std::hash<std::string_view> {
  using is_transparent = void;
};

using TokenCounts = std::unordered_map<std::string, std::int64_t, StringHash, std::equal_to<>>;

TokenCounts count_tokens(const std::vector<std::span<const std::string>>& sides, VocabularyKind kind,
                         const TextPreprocessing& preprocessing) {
  TokenCounts counts;
  for (const auto& sentences : sides) {
    for (const std::string& sentence : sentences) {
      const std::string text = preprocess(sentence, preprocessing);
      for (const std::string_view token : split(kind, text)) {
        const auto found = counts.find(token);
        if (found != counts.end()) {
          ++found->second;
        } else {
          counts.emplace(token, 1);
        }
      }
    }
  }
  return counts;
}

std::vector<std::string> most_frequent(const TokenCounts& counts, const VocabularyOptions& options) {
  using Counted = std::pair<std::int64_t, std::string_view>;
  std::vector<Counted> ranking;
  for (const auto& [token, count] : counts) {
    if (count >= options.min_count && !is_special(token)) ranking.emplace_back(count, token);
  }
  std::sort(ranking.begin(), ranking.end(), [](const Counted& left, const Counted& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  });
  const auto limit = static_cast<std::size_t>(options.size) - kSpecialTokens.size();
  if (options.size > 0 && ranking.size() > limit) ranking.resize(limit);

  std::vector<std::string> tokens(kSpecialTokens.begin(), kSpecialTokens.end());
  for (const Counted& counted : ranking) tokens.emplace_back(counted.second);
  return tokens;
}

/// A vocabulary of words, characters or bytes in a hash table.
class LookupVocabulary final : public Vocabulary {
 public:
  /// `tokens` must be distinct and begin with kSpecialTokens.
  LookupVocabulary(VocabularyKind kind, const TextPreprocessing& preprocessing, std::vector<std::string> tokens)
      : kind_(kind), preprocessing_(preprocessing), tokens_(std::move(tokens)) {
    for (std::size_t i = kSpecialTokens.size(); i < tokens_.size(); ++i) {
      token_of_.emplace(tokens_[i], static_cast<std::int64_t>(i));
    }
    if (kind != VocabularyKind::kBytes) return;
    for (const std::string& token : tokens_) byte_texts_.push_back(byte_text(token));
  }
  LookupVocabulary(const LookupVocabulary&) = delete;
  LookupVocabulary& operator=(const LookupVocabulary&) = delete;

  VocabularyKind kind() const override { return kind_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  bool separates_punctuation() const override { return preprocessing_.separate_punctuation; }
  std::string serialize() const override { return write_lookup_file({kind_, preprocessing_, tokens_}); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    const std::string text = preprocess(sentence, preprocessing_);
    std::vector<std::int64_t> tokens;
    for (const std::string_view token : split(kind_, text)) {
      const auto found = token_of_.find(token);
      tokens.push_back(found != token_of_.end() ? found->second : special().unknown);
    }
    return tokens;
  }

  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    std::vector<std::string_view> texts;
    for (const std::int64_t token : tokens) texts.push_back(tokens_[static_cast<std::size_t>(token)]);
    if (kind_ == VocabularyKind::kWords) {
      const std::string text = join_words(texts);
      return preprocessing_.separate_punctuation ? join_punctuation(text, preprocessing_.marks) : text;
    }
    std::string text;
    for (const std::string_view part : texts) text += part;
    return text;
  }

  std::string_view text_of(std::int64_t token) const override {
    return (byte_texts_.empty() ? tokens_ : byte_texts_)[static_cast<std::size_t>(token)];
  }

  VocabularyKind kind_;
  TextPreprocessing preprocessing_;
  std::vector<std::string> tokens_;
  std::vector<std::string> byte_texts_;  // texts of tokens_ in UTF-8; empty if tokens_ has these texts
  std::unordered_map<std::string_view, std::int64_t> token_of_;  // keys: views of tokens_, without special tokens
};

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

std::shared_ptr<const Vocabulary> build_lookup_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                          const VocabularyOptions& options) {
  check(!options.separate_punctuation || options.kind == VocabularyKind::kWords,
        "build_vocabulary: separate_punctuation is true, but kind is {}; only words need it", enum_name(options.kind));
  if (options.kind == VocabularyKind::kBytes) {
    return std::make_shared<LookupVocabulary>(options.kind, TextPreprocessing(), list_bytes());
  }
  TextPreprocessing preprocessing = {options.separate_punctuation, MarkSpacing::kClose};
  if (preprocessing.separate_punctuation) preprocessing.marks = mark_spacing_of(sides);
  auto tokens = most_frequent(count_tokens(sides, options.kind, preprocessing), options);
  check(tokens.size() > kSpecialTokens.size(),
        "build_vocabulary: the sentences have no token that occurs {} time{} or more, need at least one",
        options.min_count, options.min_count == 1 ? "" : "s");
  return std::make_shared<LookupVocabulary>(options.kind, preprocessing, std::move(tokens));
}

std::shared_ptr<const Vocabulary> parse_lookup_vocabulary(std::string_view bytes, std::string_view name) {
  LookupFile file = parse_lookup_file(bytes, name);
  return std::make_shared<LookupVocabulary>(file.kind, file.preprocessing, std::move(file.tokens));
}

}  // namespace edgewise
