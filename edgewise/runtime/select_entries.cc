// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/select_entries.h"

#include <vector>

namespace edgewise {

void select_entries(std::span<const RelationTerm> terms, const EncoderBatch& batch, AttendedEntries<float>& selected) {
  selected.ranges.clear();
  selected.entries = batch.attended.entries;
  selected.positions.assign(batch.positions.begin(), batch.positions.end());
  std::vector<NodeIndex> tokens;
  for (std::size_t row = 0; row < batch.positions.size(); ++row) {
    const auto [begin, length] = batch.attended.ranges[row];
    tokens.clear();
    append_sources(terms, Direction::kBoth, {.token = batch.positions[row], .length = length}, tokens);
    const std::int64_t count = std::ssize(tokens);
    if (count == 0 || tokens.back() - tokens.front() + 1 == count) {
      selected.ranges.push_back({begin + (count == 0 ? 0 : tokens.front()), count});
      continue;
    }
    selected.ranges.push_back({std::ssize(selected.entries), count});
    for (const NodeIndex token : tokens) {
      selected.entries.push_back(batch.attended.entries[static_cast<std::size_t>(begin + token)]);
      selected.positions.push_back(token);
    }
  }
}

}  // namespace edgewise
