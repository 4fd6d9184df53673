// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/tokenizer_codec.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/tokenizer/text_steps.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;
constexpr std::int64_t kMaxTokens = 1'000'000;

AddedTokenFinder find_raw(const TokenizerFile& file) {
  return {file.added, [](const AddedToken& token) { return token.is_normalized ? "" : std::string_view(token.text); }};
}

AddedTokenFinder find_normalized(const TokenizerFile& file) {
  return {file.added, [&](const AddedToken& token) {
            return token.is_normalized ? normalize(token.text, file.normalizer).text : std::string();
          }};
}

}  // namespace

TokenizerCodec::TokenizerCodec(std::string bytes, const std::string& where)
    : bytes_(std::move(bytes)),
      file_(parse_tokenizer_file(bytes_, where)),
      merger_(file_.model, where),
      raw_tokens_(find_raw(file_)),
      normalized_tokens_(find_normalized(file_)) {
  number_tokens(where);
  // The merger has the tokens and merges from here on.
  file_.model.tokens = {};
  file_.model.merges = {};
}

void TokenizerCodec::number_tokens(const std::string& where) {
  const auto add = [&](const std::string& text, std::int64_t number) {
    if (number >= kMaxTokens)
      fail("{}: {} has number {}, needs at most {}", where, quote(text), number, kMaxTokens - 1);
    const auto index = static_cast<std::size_t>(number);
    tokens_.resize(std::max(tokens_.size(), index + 1));
    if (!tokens_[index].empty() && tokens_[index] != text) {
      fail("{}: token {} is {} and {}, needs one text", where, number, quote(tokens_[index]), quote(text));
    }
    tokens_[index] = text;
  };
  for (const auto& [text, number] : file_.model.tokens) add(text, number);
  for (const AddedToken& token : file_.added) {
    const auto found = merger_.find(token.text);
    if (found && *found != token.number) {
      fail("{}: {} has the numbers {} and {}, needs one", where, quote(token.text), *found, token.number);
    }
    add(token.text, token.number);
    if (token.is_normalized) decoded_[token.number] = normalize(token.text, file_.normalizer).text;
  }
  // Decoding omits tokens by their texts, which normalising may have changed.
  std::unordered_set<std::string_view> special_texts;
  for (const AddedToken& token : file_.added) {
    if (token.is_special) special_texts.insert(token.text);
  }
  for (const AddedToken& token : file_.added) {
    if (special_texts.contains(text_of(token.number))) special_.push_back(token.number);
  }
  check(!tokens_.empty(), "{} has no tokens, needs at least one", where);
  sort_unique(special_);
}

std::optional<std::int64_t> TokenizerCodec::unknown() const {
  return file_.model.unknown ? merger_.find(*file_.model.unknown) : std::nullopt;
}

void TokenizerCodec::encode_section(std::string_view text, bool begins_text, std::vector<std::int64_t>& tokens) const {
  const NormalizedText normal = normalize(text, file_.normalizer);
  for (const TextSection& section : normalized_tokens_.split(normal.text)) {
    if (section.token) {
      tokens.push_back(*section.token);
      continue;
    }
    TextPiece piece = {normal.text.substr(section.bytes.begin, section.bytes.size()),
                       begins_text && normal.has_beginning && section.bytes.begin == 0};
    for (const TextPiece& word : split_piece(std::move(piece), file_.splitter)) {
      merger_.append_tokens(word.text, tokens);
    }
  }
}

std::vector<std::int64_t> TokenizerCodec::encode(std::string_view text) const {
  check(text.size() <= kMaxTextBytes, "encode: sentence has {} bytes, needs at most {}", text.size(), kMaxTextBytes);
  std::vector<std::int64_t> tokens;
  for (const TextSection& section : raw_tokens_.split(text)) {
    if (section.token) {
      tokens.push_back(*section.token);
    } else {
      encode_section(text.substr(section.bytes.begin, section.bytes.size()), section.bytes.begin == 0, tokens);
    }
  }
  return tokens;
}

const std::string& TokenizerCodec::text_of(std::int64_t token) const {
  const auto decoded = decoded_.find(token);
  return decoded != decoded_.end() ? decoded->second : tokens_[static_cast<std::size_t>(token)];
}

std::string TokenizerCodec::decode(std::span<const std::int64_t> tokens) const {
  std::vector<std::string> texts;
  for (const std::int64_t token : tokens) texts.push_back(text_of(token));
  return join_tokens(std::move(texts), file_.decoder);
}

}  // namespace edgewise
