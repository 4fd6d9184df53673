// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/dropout/dropout.h"

// Dropout factors are functions of seed, stream and index. Backward recomputes the factors, so that no mask is stored.
namespace edgewise::kernels::reference {

/// Computes the factors of the edges of one head. The random bits of edge e are word e % 4 of Philox block
/// (e / 4) * heads + head. With a single head the factors are equal to the factors of a flat array.
template <typename T>
class EdgeDropout {
 public:
  EdgeDropout(const Dropout& dropout, std::int64_t head, std::int64_t num_heads)
      : rule_(dropout), seed_(dropout.seed), stream_(dropout.stream), head_(head), num_heads_(num_heads) {}

  /// Returns the factor of an edge. Ascending edges are fastest, because four consecutive edges share a block.
  T factor(EdgeIndex edge) {
    if (rule_.is_identity()) return T{1};
    if (edge / 4 != quad_) {
      quad_ = edge / 4;
      block_ = philox(seed_, stream_, static_cast<std::uint64_t>(quad_ * num_heads_ + head_));
    }
    return rule_.factor(block_[static_cast<std::size_t>(edge % 4)]);
  }

 private:
  DropoutRule<T> rule_;
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::int64_t head_;
  std::int64_t num_heads_;
  std::int64_t quad_ = -1;
  std::array<std::uint32_t, 4> block_{};
};

/// Computes kernels::dropout() in plain loops.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out);

/// Writes the dropout factors of attention weights, [E, H].
template <typename T>
void edge_dropout_factors(const Dropout& dropout, std::int64_t num_edges, std::int64_t num_heads, T* factor_EH);

}  // namespace edgewise::kernels::reference
