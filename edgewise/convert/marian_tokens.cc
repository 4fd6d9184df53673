// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_tokens.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

TokenListBuilder marian_token_list(std::vector<std::string> tokens, const std::string& where) {
  constexpr std::string_view kEnd = "</s>";
  const auto end = std::ranges::find(tokens, kEnd);
  check(end != tokens.end(), "{} has no token {}, needs one", where, kEnd);
  const std::int64_t padding = std::ssize(tokens);
  const SpecialTokens special = {.padding = padding, .begin = padding, .end = end - tokens.begin()};
  tokens.emplace_back(kMarianPadding);
  TokenListBuilder builder(std::move(tokens), padding + 1, special, kUnknownToken, where);
  builder.list().rules.forbidden = {padding};
  return builder;
}

}  // namespace edgewise
