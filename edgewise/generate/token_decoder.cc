// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/token_decoder.h"

#include <algorithm>
#include <string_view>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

// Tokens before a text decide about its first characters, such as the space of a first word, which a decoder leaves out
// at the beginning of a sentence. More tokens than these do not matter.
constexpr std::ptrdiff_t kMostContext = 8;

// A character has at most four bytes, so that after as many tokens of one byte each it is complete or bad.
constexpr std::size_t kMostOpenTokens = 4;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Returns whether the last character may be incomplete: its bytes are the beginning of one, or a decoder has replaced
/// them.
bool ends_within_character(std::string_view text) {
  if (text.ends_with(kReplacement)) return true;
  for (std::size_t size = 1; size < 4 && size <= text.size(); ++size) {
    if (is_cut_code_point(text, text.size() - size)) return true;
  }
  return false;
}

}  // namespace

TokenDecoder::TokenDecoder(const Vocabulary& vocabulary, std::span<const std::int64_t> before)
    : vocabulary_(&vocabulary), num_context_(std::min<std::size_t>(before.size(), kMostContext)) {
  const auto last = before.last(num_context_);
  tokens_.assign(last.begin(), last.end());
  context_ = vocabulary.decode(tokens_);
}

std::string TokenDecoder::push(std::int64_t token) {
  tokens_.push_back(token);
  return take(/*is_last=*/false);
}

std::string TokenDecoder::finish() { return take(/*is_last=*/true); }

std::string TokenDecoder::take(bool is_last) {
  if (tokens_.size() == num_context_) return {};
  std::string text = vocabulary_->decode(tokens_);
  const bool is_open = ends_within_character(text) && tokens_.size() - num_context_ < kMostOpenTokens;
  if (is_open && !is_last) return {};
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(context_, text).in1 - context_.begin());
  std::string piece = replace_bad_utf8(std::string_view(text).substr(same));
  if (std::ssize(tokens_) > kMostContext) tokens_.erase(tokens_.begin(), tokens_.end() - kMostContext);
  num_context_ = tokens_.size();
  context_ = vocabulary_->decode(tokens_);
  return piece;
}

}  // namespace edgewise
