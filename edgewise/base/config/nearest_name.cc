// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Returns the code points. Each byte that belongs to none counts as a letter of its own, above all code points.
std::u32string letters_of(std::string_view text) {
  constexpr char32_t kFirstByte = 0x110000;
  std::u32string letters;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    letters += point.size > 0 ? point.value : kFirstByte + static_cast<unsigned char>(text[offset]);
  });
  return letters;
}

/// Returns the edit distance with swaps of neighbours (optimal string alignment). Keeps three rows of its table.
std::size_t edit_distance(std::u32string_view left, std::u32string_view right) {
  std::vector<std::size_t> two_above(right.size() + 1);
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replacement = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replacement});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> names) {
  const std::u32string wrong = letters_of(name);
  std::optional<std::string> nearest;
  std::size_t fewest = 0;
  for (const std::string& candidate : names) {
    const std::u32string right = letters_of(candidate);
    const std::size_t longer = std::max(wrong.size(), right.size());
    const std::size_t most_edits = std::max<std::size_t>(1, longer / 3);
    // Comparing names of megabytes letter by letter would take minutes.
    if (longer - std::min(wrong.size(), right.size()) > most_edits) continue;
    const std::size_t edits = edit_distance(wrong, right);
    const bool is_near = edits < longer && edits <= most_edits;
    if (is_near && (!nearest || edits < fewest)) {
      nearest = candidate;
      fewest = edits;
    }
  }
  return nearest;
}

}  // namespace edgewise
