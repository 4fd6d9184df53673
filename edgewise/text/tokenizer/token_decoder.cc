// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/text/tokenizer/byte_alphabet.h"
#include "edgewise/text/tokenizer/replaced_text.h"
#include "edgewise/text/tokenizer/text_steps.h"

namespace edgewise {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

/// Replaces each longest beginning of a code point that is cut, and each other byte that is no UTF-8, by U+FFFD (the
/// Unicode Standard, section 3.9, "U+FFFD Substitution of Maximal Subparts").
std::string decode_utf8(std::string_view bytes) {
  std::string text;
  for (std::size_t offset = 0; offset < bytes.size();) {
    const std::size_t size = code_point_at(bytes, offset).size;
    if (size > 0) {
      text += bytes.substr(offset, size);
      offset += size;
      continue;
    }
    std::size_t cut = 1;
    while (offset + cut < bytes.size() && is_cut_code_point(bytes.substr(0, offset + cut + 1), offset)) ++cut;
    text += kReplacement;
    offset += cut;
  }
  return text;
}

std::string join_all(const std::vector<std::string>& tokens, std::string_view separator = "") {
  return fmt::format("{}", fmt::join(tokens, separator));
}

std::string join_bytes(const std::vector<std::string>& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += read_bytes(token).value_or(token);
  return decode_utf8(bytes);
}

/// Returns the byte of a token such as `<0x0A>`.
std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

/// Replaces each run of byte tokens by their text; a run that is no UTF-8 becomes U+FFFD for each byte.
std::vector<std::string> join_byte_tokens(const std::vector<std::string>& tokens) {
  std::vector<std::string> joined;
  std::string bytes;
  const auto end_run = [&] {
    if (bytes.empty()) return;
    if (!find_bad_utf8(bytes)) {
      joined.push_back(std::move(bytes));
    } else {
      joined.insert(joined.end(), bytes.size(), std::string(kReplacement));
    }
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    if (const auto byte = byte_of(token)) {
      bytes += *byte;
      continue;
    }
    end_run();
    joined.push_back(token);
  }
  end_run();
  return joined;
}

std::string strip_character(std::string_view token, const DecoderStep& step) {
  for (std::int64_t i = 0; i < step.start && token.starts_with(step.from); ++i) token.remove_prefix(step.from.size());
  for (std::int64_t i = 0; i < step.stop && token.ends_with(step.from); ++i) token.remove_suffix(step.from.size());
  return std::string(token);
}

std::string decode_token(const std::string& token, const DecoderStep& step, bool is_first, bool is_last) {
  switch (step.kind) {
    case DecoderKind::kStrip:
      return strip_character(token, step);
    case DecoderKind::kReplace:
      return replace_each(token, step.from, step.to);
    case DecoderKind::kMetaspace:
      return replace_each(token, step.from, is_first && !step.keeps_first_space ? "" : " ");
    case DecoderKind::kSuffix:
      return step.from.empty() ? token : replace_each(token, step.from, is_last ? "" : " ");
    default:
      return token;
  }
}

void apply_decoder(const DecoderStep& step, std::vector<std::string>& tokens) {
  switch (step.kind) {
    case DecoderKind::kByteLevel:
      tokens = {join_bytes(tokens)};
      return;
    case DecoderKind::kByteFallback:
      tokens = join_byte_tokens(tokens);
      return;
    case DecoderKind::kFuse:
      tokens = {join_all(tokens)};
      return;
    default:
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = decode_token(tokens[i], step, i == 0, i + 1 == tokens.size());
      }
  }
}

}  // namespace

std::string join_tokens(std::vector<std::string> tokens, const std::optional<std::vector<DecoderStep>>& steps) {
  if (!steps) return join_all(tokens, " ");
  const auto count_bytes = [&] {
    std::size_t bytes = 0;
    for (const std::string& token : tokens) bytes += token.size();
    return bytes;
  };
  const std::size_t bytes_before = count_bytes();
  for (const DecoderStep& step : *steps) {
    apply_decoder(step, tokens);
    check_growth("decode", count_bytes(), bytes_before);
  }
  return join_all(tokens);
}

}  // namespace edgewise
