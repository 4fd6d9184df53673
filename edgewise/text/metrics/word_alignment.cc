// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/metrics/word_alignment.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Returns -1 for text that is not a number.
std::int64_t parse_number(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::int64_t count_common(const std::vector<WordLink>& a, const std::vector<WordLink>& b) {
  std::vector<WordLink> common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return std::ssize(common);
}

}  // namespace

GoldAlignment parse_gold_alignment(std::string_view line, std::int64_t first, std::string_view place) {
  GoldAlignment gold;
  constexpr std::string_view kSpaces = " \t";
  for (std::size_t begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const std::size_t middle = word.find_first_of("-p");
    const bool is_link = middle != std::string_view::npos;
    const std::int64_t input = is_link ? parse_number(word.substr(0, middle)) : -1;
    const std::int64_t output = is_link ? parse_number(word.substr(middle + 1)) : -1;
    check(input >= first && output >= first,
          "{} has {}, needs links as {}-{} (sure) or {}p{} (possible), words counted from {}", place, quote(word),
          first, first, first, first, first);
    const WordLink link = {input - first, output - first};
    gold.possible.push_back(link);
    if (word[middle] == '-') gold.sure.push_back(link);
    begin = line.find_first_not_of(kSpaces, end);
  }
  sort_unique(gold.sure);
  sort_unique(gold.possible);
  return gold;
}

void AlignmentErrors::add(std::vector<WordLink> found, const GoldAlignment& gold) {
  sort_unique(found);
  found_ += std::ssize(found);
  sure_ += std::ssize(gold.sure);
  found_sure_ += count_common(found, gold.sure);
  found_possible_ += count_common(found, gold.possible);
}

double AlignmentErrors::rate() const {
  if (found_ + sure_ == 0) return 0.0;
  return 1.0 - static_cast<double>(found_sure_ + found_possible_) / static_cast<double>(found_ + sure_);
}

}  // namespace edgewise
