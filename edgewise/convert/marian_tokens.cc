// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_tokens.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

bool is_forbidden(std::string_view token, const MarianTokenRules& rules) {
  return token == kMarianPadding || (token == kUnknownToken && !rules.allow_unknown) ||
         (is_marian_control_token(token) && !rules.allow_control);
}

}  // namespace

bool is_marian_control_token(std::string_view token) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  const bool is_below_32 = token.starts_with("<0x0") || token.starts_with("<0x1");
  return is_below_32 && token.size() == 6 && kHexDigits.find(token[4]) != std::string_view::npos && token[5] == '>';
}

TokenListBuilder marian_token_list(std::vector<std::string> tokens, const MarianTokenRules& rules,
                                   const std::string& where) {
  const auto end = std::ranges::find(tokens, kMarianEnd);
  check(end != tokens.end(), "{} has no token {}, needs one", where, kMarianEnd);
  const std::int64_t padding = std::ssize(tokens);
  const SpecialTokens special = {.padding = padding, .begin = padding, .end = end - tokens.begin()};
  tokens.emplace_back(kMarianPadding);
  std::vector<std::int64_t> forbidden;
  for (std::int64_t i = 0; i <= padding; ++i) {
    if (is_forbidden(tokens[static_cast<std::size_t>(i)], rules)) forbidden.push_back(i);
  }
  TokenListBuilder builder(std::move(tokens), padding + 1, special, kUnknownToken, where);
  builder.list().rules.forbidden = std::move(forbidden);
  return builder;
}

}  // namespace edgewise
