// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace edgewise {

/// How a graph counts its nodes (their kinds are sets) or its edges (their kinds are relations): part by part, and in a
/// part kind by kind. Within a kind, over all parts, "local" numbers count without gaps.
class Numbering {
 public:
  /// Numbers of one kind in one part: global `[begin, begin + count)`, local `[local_begin, local_begin + count)`.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t local_begin = 0;
    std::int64_t count = 0;
  };
  struct Place {
    std::int64_t part = 0;
    std::int64_t kind = 0;
    std::int64_t local = 0;
  };

  Numbering() = default;

  /// `counts[part * num_kinds + kind]`. Throws Error when their sum does not fit 64 bits.
  Numbering(std::int64_t num_parts, std::int64_t num_kinds, std::vector<std::int64_t> counts);

  std::int64_t num_parts() const { return num_parts_; }
  std::int64_t total() const { return begin_.back(); }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  Range range(std::int64_t part, std::int64_t kind) const;

  /// Where a global number in [0, total) lies. O(log(parts · kinds)).
  Place find(std::int64_t number) const;

 private:
  std::int64_t num_parts_ = 0;
  std::int64_t num_kinds_ = 0;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> begin_ = {0};  // [parts · kinds + 1], ascending: searched by find()
  std::vector<std::int64_t> local_begin_;  // [parts · kinds]
};

}  // namespace edgewise
