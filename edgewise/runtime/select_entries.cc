// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/select_entries.h"

#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise {

template <typename T>
void select_entries(std::span<const RelationTerm> terms, Direction direction, const AttendedEntries<T>& all,
                    std::span<const std::int64_t> positions, AttendedEntries<T>& selected) {
  selected.ranges.clear();
  selected.entries = all.entries;
  std::vector<NodeIndex> tokens;
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const auto [begin, length] = all.ranges[row];
    tokens.clear();
    append_sources(terms, direction, {.token = positions[row], .length = length}, tokens);
    const std::int64_t count = std::ssize(tokens);
    if (count == 0 || tokens.back() - tokens.front() + 1 == count) {
      selected.ranges.push_back({begin + (count == 0 ? 0 : tokens.front()), count});
      continue;
    }
    selected.ranges.push_back({std::ssize(selected.entries), count});
    for (const NodeIndex token : tokens)
      selected.entries.push_back(all.entries[static_cast<std::size_t>(begin + token)]);
  }
}

template void select_entries(std::span<const RelationTerm>, Direction, const AttendedEntries<float>&,
                             std::span<const std::int64_t>, AttendedEntries<float>&);
template void select_entries(std::span<const RelationTerm>, Direction, const AttendedEntries<BFloat16>&,
                             std::span<const std::int64_t>, AttendedEntries<BFloat16>&);

}  // namespace edgewise
