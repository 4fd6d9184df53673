// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/gpu/upload.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The tokens of several inputs, one behind the other, and the relation by which each of them attends to all tokens of
/// its input. The relation has intervals, or lists of edges where there are no kernels for intervals.
struct SentenceRelation {
  std::vector<std::int64_t> tokens, positions;
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<Interval> intervals;
  std::vector<NodeIndex> sources;

  SentenceRelation(std::span<const Tokens> inputs, bool has_intervals) {
    for (const Tokens& input : inputs) {
      const auto first = static_cast<NodeIndex>(tokens.size());
      const auto end = static_cast<NodeIndex>(tokens.size() + input.size());
      tokens.insert(tokens.end(), input.begin(), input.end());
      for (NodeIndex token = first; token < end; ++token) {
        positions.push_back(token - first);
        row_begin.push_back(row_begin.back() + end - first);
        if (has_intervals) {
          intervals.push_back({first, end});
        } else {
          for (NodeIndex source = first; source < end; ++source) sources.push_back(source);
        }
      }
    }
  }

  /// The relation in an upload.
  struct Uploaded {
    UploadedArray<EdgeIndex> row_begin;
    UploadedArray<Interval> intervals;
    UploadedArray<NodeIndex> sources;
    std::int64_t num_rows;
    bool has_intervals;

    RelationView view(Upload& upload) const {
      return {.num_sources = num_rows,
              .num_destinations = num_rows,
              .row_begin = upload.at(row_begin),
              .intervals = has_intervals ? upload.at(intervals) : nullptr,
              .sources = has_intervals ? nullptr : upload.at(sources)};
    }
  };

  Uploaded add(Upload& upload) const {
    return {upload.add(std::span(row_begin)), upload.add(std::span(intervals)), upload.add(std::span(sources)),
            std::ssize(tokens), !intervals.empty()};
  }
};

}  // namespace edgewise
