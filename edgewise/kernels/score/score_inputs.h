// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "edgewise/kernels/score/score_program.h"

// The numbers that a score function reads and whose gradients it computes. Shapes: D = destinations, S = sources,
// E = edges, H = heads.
namespace edgewise::kernels {

/// The meaning of a number's index in a column.
enum class ScoreDomain : std::uint8_t {
  kEdges,         // the edge
  kSources,       // its source
  kDestinations,  // its destination
  kDistances,     // source - destination - ScoreColumn::first
  kTable,         // computed by the function: ScoreOp::kLookup
};

/// Kernels load whole vectors: they may read this many numbers before the first and behind the last number of a head of
/// a column of sources or distances.
inline constexpr std::int64_t kScorePadding = 16;

template <typename T>
struct ScoreColumn {
  ScoreDomain domain;
  const T* data;             // number i of head h is data[i * stride + h * head_stride]
  std::int64_t size;         // the number of indices
  std::int64_t stride;       // 1 except for edges
  std::int64_t head_stride;  // 0 if all heads have the same numbers
  std::int64_t first = 0;    // kDistances: the smallest source - destination
  T* grad = nullptr;  // an output of backward, or null: for edges [E, H], or [E] if head_stride is 0; else [H, size]

  const T* of_head(std::int64_t head) const { return data + head * head_stride; }

  /// Returns whether edges of different rows share numbers, so that their gradients are sums over many rows.
  bool is_shared() const { return domain == ScoreDomain::kDistances || domain == ScoreDomain::kTable; }
};

template <typename T>
struct ScoreInputs {
  const ScoreProgram* program;
  std::vector<ScoreColumn<T>> columns;  // indexed by ScoreInstruction::column

  bool has_gradients_of(ScoreDomain domain) const {
    return std::ranges::any_of(columns, [&](const auto& c) { return c.grad != nullptr && c.domain == domain; });
  }
  bool has_shared_gradients() const {
    return has_gradients_of(ScoreDomain::kDistances) || has_gradients_of(ScoreDomain::kTable);
  }

  /// Returns whether a gradient of edges is a sum over heads. The first head writes it, and the other heads add to it.
  bool sums_heads() const {
    return std::ranges::any_of(columns, [](const auto& c) {
      return c.grad != nullptr && c.domain == ScoreDomain::kEdges && c.head_stride == 0;
    });
  }

  /// Sets the gradients of the heads `[begin, end)` to zero, except those of edges.
  void clear_gradients(std::int64_t begin, std::int64_t end) const {
    for (const ScoreColumn<T>& c : columns) {
      if (c.grad == nullptr || c.domain == ScoreDomain::kEdges) continue;
      std::fill(c.grad + begin * c.size, c.grad + end * c.size, T{0});
    }
  }
};

/// Sums of gradients of shared columns. Rows form pieces at places that do not depend on the number of threads; each
/// piece has sums of its own, which are added up in the order of the pieces.
template <typename T>
class SharedGradients {
 public:
  /// `score` may be null. The memory is [pieces, heads, numbers of all shared columns].
  SharedGradients(const ScoreInputs<T>* score, std::int64_t num_edges, std::int64_t num_heads)
      : score_(score), num_heads_(num_heads) {
    if (score == nullptr || !score->has_shared_gradients()) return;
    for (const ScoreColumn<T>& c : score->columns) {
      offsets_.push_back(numbers_);
      if (c.grad != nullptr && c.is_shared()) numbers_ += c.size;
    }
    // The sums should take less time than the edges, and less memory than a number for each edge and head.
    const std::int64_t most_sums = std::max(num_edges, num_edges * num_heads / 4);
    const std::int64_t sums_per_piece = std::max<std::int64_t>(num_heads * numbers_, 1);
    max_pieces_ = std::clamp<std::int64_t>(most_sums / sums_per_piece, 1, kMaxPieces);
  }

  bool is_empty() const { return offsets_.empty(); }

  /// Returns the most pieces that are worth their sums.
  std::int64_t max_pieces() const { return max_pieces_; }

  /// Allocates the sums, which are zero.
  void allocate(std::int64_t num_pieces) {
    num_pieces_ = num_pieces;
    sums_.assign(static_cast<std::size_t>(num_pieces * num_heads_ * numbers_), T{0});
  }

  void clear() { std::fill(sums_.begin(), sums_.end(), T{0}); }

  /// Returns the sums of a column, [size], of head number `head` of this object.
  T* of(std::int64_t piece, std::int64_t head, std::int64_t column) {
    return sums_.data() + (piece * num_heads_ + head) * numbers_ + offsets_[column];
  }

  /// Adds the gradients of head number `head` of this object to head `to_head` of the columns.
  void finish(std::int64_t head, std::int64_t to_head) {
    if (is_empty()) return;
    for (std::int64_t column = 0; column < std::ssize(offsets_); ++column) {
      const ScoreColumn<T>& c = score_->columns[column];
      if (c.grad == nullptr || !c.is_shared()) continue;
      T* to = c.grad + to_head * c.size;  // zeros of clear_gradients()
      for (std::int64_t piece = 0; piece < num_pieces_; ++piece) {
        const T* from = of(piece, head, column);
        for (std::int64_t i = 0; i < c.size; ++i) to[i] += from[i];
      }
    }
  }

 private:
  static constexpr std::int64_t kMaxPieces = 64;

  const ScoreInputs<T>* score_;
  std::int64_t num_heads_;
  std::vector<std::int64_t> offsets_;  // by column; empty if there are no shared gradients
  std::int64_t numbers_ = 0;
  std::int64_t max_pieces_ = 1;
  std::int64_t num_pieces_ = 0;
  std::vector<T> sums_;
};

}  // namespace edgewise::kernels
