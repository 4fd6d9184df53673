// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/name_matcher.h"

#include <algorithm>

namespace edgewise {
namespace {

std::size_t index_of(char first) { return static_cast<unsigned char>(first); }

}  // namespace

void NameMatcher::add(std::string_view name, std::int64_t token) {
  std::vector<Name>& names = by_first_byte_[index_of(name.front())];
  const auto shorter = std::ranges::find_if(names, [&](const Name& other) { return other.text.size() < name.size(); });
  names.insert(shorter, {std::string(name), token});
}

std::optional<NameMatch> NameMatcher::find(std::string_view text, std::size_t begin) const {
  for (; begin < text.size(); ++begin) {
    for (const Name& name : by_first_byte_[index_of(text[begin])]) {
      if (text.substr(begin).starts_with(name.text)) return NameMatch{begin, name.text.size(), name.token};
    }
  }
  return std::nullopt;
}

}  // namespace edgewise
