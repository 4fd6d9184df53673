// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/repeats.h"

#include <algorithm>

namespace edgewise {

Tokens ends_of_repeats(std::span<const std::int64_t> produced, std::int64_t size) {
  const auto context_size = static_cast<std::size_t>(size - 1);
  if (produced.size() <= context_size) return {};
  const auto context = produced.last(context_size);
  Tokens ends;
  for (std::size_t begin = 0; begin + context_size < produced.size(); ++begin) {
    if (std::ranges::equal(produced.subspan(begin, context_size), context))
      ends.push_back(produced[begin + context_size]);
  }
  return different_tokens(ends);
}

Tokens different_tokens(std::span<const std::int64_t> tokens) {
  Tokens different(tokens.begin(), tokens.end());
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  return different;
}

}  // namespace edgewise
