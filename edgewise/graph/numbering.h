// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace edgewise {

/// Numbers the nodes of a graph by part and set, or the edges by part and relation; a "kind" is a set or a relation.
/// Global numbers run part by part, and within a part kind by kind. An index in a kind counts the nodes or edges of one
/// kind over all parts: for a node, it is the local number of graph.h.
class Numbering {
 public:
  /// The numbers of one kind in one part: global `[begin, begin + count)`, in the kind
  /// `[begin_in_kind, begin_in_kind + count)`.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t begin_in_kind = 0;
    std::int64_t count = 0;
  };
  /// The part and the kind of a node or edge, and its index in this kind.
  struct Location {
    std::int64_t part = 0;
    std::int64_t kind = 0;
    std::int64_t index_in_kind = 0;
  };

  Numbering() = default;

  /// `counts[part * num_kinds + kind]` is the number of nodes or edges. Throws Error if the sum does not fit 64 bits.
  Numbering(std::int64_t num_parts, std::int64_t num_kinds, std::vector<std::int64_t> counts);

  std::int64_t num_parts() const { return num_parts_; }
  std::int64_t total() const { return begin_.back(); }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  Range range(std::int64_t part, std::int64_t kind) const;

  /// Finds the part, the kind and the index in the kind of a global number in [0, total). O(log(parts · kinds)).
  Location find(std::int64_t number) const;

 private:
  std::int64_t num_parts_ = 0;
  std::int64_t num_kinds_ = 0;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> begin_ = {0};    // [parts · kinds + 1], ascending
  std::vector<std::int64_t> begin_in_kind_;  // [parts · kinds]
};

}  // namespace edgewise
