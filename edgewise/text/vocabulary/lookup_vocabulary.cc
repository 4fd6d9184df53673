// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/lookup_vocabulary.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/vocabulary_file.h"

namespace edgewise {
namespace {

std::string preprocess(std::string_view sentence, const TextPreprocessing& preprocessing) {
  return preprocessing.separate_punctuation ? separate_punctuation(sentence) : std::string(sentence);
}

std::vector<std::string_view> split(VocabularyKind kind, std::string_view text) {
  return kind == VocabularyKind::kWords ? split_words(text) : split_characters(text);
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

}  // namespace

LookupVocabulary::LookupVocabulary(VocabularyKind kind, const TextPreprocessing& preprocessing,
                                   std::vector<std::string> tokens)
    : kind_(kind), preprocessing_(preprocessing), tokens_(std::move(tokens)) {
  for (std::size_t i = kSpecialTokens.size(); i < tokens_.size(); ++i) {
    token_of_.emplace(tokens_[i], static_cast<std::int64_t>(i));
  }
}

std::string LookupVocabulary::serialize() const { return write_vocabulary_file({kind_, preprocessing_, tokens_}); }

std::vector<std::int64_t> LookupVocabulary::encode_text(std::string_view sentence) const {
  const std::string text = preprocess(sentence, preprocessing_);
  std::vector<std::int64_t> tokens;
  for (const std::string_view token : split(kind_, text)) {
    const auto found = token_of_.find(token);
    tokens.push_back(found != token_of_.end() ? found->second : special().unknown);
  }
  return tokens;
}

std::string LookupVocabulary::decode_tokens(std::span<const std::int64_t> tokens) const {
  std::vector<std::string_view> texts;
  for (const std::int64_t token : tokens) texts.push_back(text_of(token));
  if (kind_ == VocabularyKind::kWords) {
    const std::string text = join_words(texts);
    return preprocessing_.separate_punctuation ? join_punctuation(text, preprocessing_.marks) : text;
  }
  std::string text;
  for (const std::string_view character : texts) text += character;
  return text;
}

std::string_view LookupVocabulary::text_of(std::int64_t token) const {
  return tokens_[static_cast<std::size_t>(token)];
}

std::shared_ptr<const Vocabulary> build_lookup_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                          const VocabularyOptions& options) {
  check(!options.separate_punctuation || options.kind == VocabularyKind::kWords,
        "build_vocabulary: separate_punctuation is true, but kind is characters; only words need it");
  TextPreprocessing preprocessing = {options.separate_punctuation, MarkSpacing::kClose};
  if (preprocessing.separate_punctuation) preprocessing.marks = mark_spacing_of(sides);
  auto tokens = most_frequent(count_tokens(sides, options.kind, preprocessing), options);
  check(tokens.size() > kSpecialTokens.size(),
        "build_vocabulary: the sentences have no token that occurs {} time{} or more, need at least one",
        options.min_count, options.min_count == 1 ? "" : "s");
  return std::make_shared<LookupVocabulary>(options.kind, preprocessing, std::move(tokens));
}

}  // namespace edgewise
