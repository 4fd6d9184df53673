// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/check_same.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "edgewise/base/utf8.h"
#include "edgewise/distributed/packed_strings.h"

namespace edgewise {
namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.push_back(text);
  return lines;
}

std::string describe_line(const std::vector<std::string_view>& lines, std::size_t line) {
  return line < lines.size() ? quote(lines[line]) : "missing";
}

/// Describes the first difference of two values that differ.
std::string describe_difference(std::string_view first, std::string_view other, std::size_t rank) {
  const std::vector<std::string_view> first_lines = split_lines(first);
  const std::vector<std::string_view> other_lines = split_lines(other);
  const std::size_t shorter = std::min(first_lines.size(), other_lines.size());
  std::size_t line = 0;
  while (line < shorter && first_lines[line] == other_lines[line]) ++line;
  const bool is_one_line = first_lines.size() == 1 && other_lines.size() == 1;
  const std::string place = is_one_line ? "the value" : fmt::format("line {}", line + 1);
  return fmt::format("{} is {} in rank 0 and {} in rank {}", place, describe_line(first_lines, line),
                     describe_line(other_lines, line), rank);
}

}  // namespace

void check_same(ProcessGroup& processes, const std::vector<std::pair<std::string, std::string>>& named_values) {
  std::vector<std::string> values;
  values.reserve(named_values.size());
  for (const auto& [name, value] : named_values) values.push_back(value);
  std::vector<std::vector<std::string>> all;
  for (const std::string& bytes : all_gather_bytes(processes, pack_strings(values))) {
    all.push_back(unpack_strings(bytes));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank].at(i) == all[0].at(i)) continue;
      fail_together(processes,
                    fmt::format("check_same: the {} of rank {} differs from that of rank 0, needs the same in all "
                                "processes; {}",
                                named_values[i].first, rank, describe_difference(all[0][i], all[rank][i], rank)));
    }
  }
}

}  // namespace edgewise
