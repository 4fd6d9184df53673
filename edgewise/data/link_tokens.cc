// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/link_tokens.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/token_ranges.h"

namespace edgewise {
namespace {

constexpr std::string_view kSpaceToken = "\u2581";  // belongs to the word behind it

/// Returns for each word of a side the numbers of its tokens.
std::vector<std::vector<std::int64_t>> tokens_of_words(const TokenizedSide& side) {
  std::vector<std::string> texts;
  texts.reserve(side.tokens.size());
  for (const std::int64_t token : side.tokens) texts.emplace_back(side.vocabulary.token_text(token));
  const std::vector<ByteRange> ranges = find_token_ranges(side.text, texts);
  const std::vector<std::string_view> words = split_words(side.text);
  const std::size_t words_before = split_words(side.text_before).size();
  std::vector<std::vector<std::int64_t>> tokens(words_before + words.size());
  std::size_t word = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].size() == 0 && texts[i] != kSpaceToken) continue;
    const auto end_of = [&](std::string_view text) {
      return static_cast<std::size_t>(text.data() - side.text.data()) + text.size();
    };
    while (word < words.size() && end_of(words[word]) <= ranges[i].begin) ++word;
    if (word == words.size()) break;
    tokens[words_before + word].push_back(static_cast<std::int64_t>(i));
  }
  return tokens;
}

/// Returns the number of the end token, counted from the first token of the text; nullopt if the side has none.
std::optional<std::int64_t> find_end(const TokenizedSide& side) {
  const auto& after = side.frame.after;
  const auto end = std::ranges::find(after, side.vocabulary.special().end);
  if (end == after.end()) return std::nullopt;
  return std::ssize(side.tokens) + (end - after.begin());
}

}  // namespace

std::vector<NodeLink> link_tokens(const TokenizedSide& input, const TokenizedSide& output,
                                  std::span<const WordLink> links) {
  const auto inputs = tokens_of_words(input);
  const auto outputs = tokens_of_words(output);
  const std::int64_t first_encoder = std::ssize(input.frame.before);
  const std::int64_t first_decoder = std::ssize(output.frame.before) - 1;  // the node before a token predicts it
  std::vector<NodeLink> found;
  for (const auto& [input_word, output_word] : links) {
    if (input_word >= std::ssize(inputs) || output_word >= std::ssize(outputs)) continue;
    for (const std::int64_t source : inputs[static_cast<std::size_t>(input_word)]) {
      for (const std::int64_t token : outputs[static_cast<std::size_t>(output_word)]) {
        found.push_back({.encoder = first_encoder + source, .decoder = first_decoder + token});
      }
    }
  }
  const std::optional<std::int64_t> input_end = find_end(input);
  const std::optional<std::int64_t> output_end = find_end(output);
  if (input_end && output_end) {
    found.push_back({.encoder = first_encoder + *input_end, .decoder = first_decoder + *output_end});
  }
  std::ranges::sort(found, {}, [](const NodeLink& link) { return std::pair(link.decoder, link.encoder); });
  return found;
}

}  // namespace edgewise
