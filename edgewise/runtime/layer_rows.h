// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/kernels/attention/node_attention.h"

namespace edgewise {

/// Whom a step's rows attend to, with which queries: the part of kernels::NodeAttention that a model does not say.
template <typename T>
struct RowSources {
  const kernels::SourceRange* ranges;
  const T* const* pieces;
  std::int64_t key_offset;
  std::int64_t value_offset;
  const float* query;
  std::int64_t query_stride;
  float* const* weights = nullptr;
};

/// Rows of one step on their way through a model's layers: their states, and what the next sublayer reads of them. A
/// sublayer's norm comes before it or after its sum (nn/sublayer.h has the formulas), so that each of them leaves the
/// rows as the next one reads them. Memory is kept from step to step.
template <typename T>
class LayerRows {
 public:
  explicit LayerRows(const TransformerOptions& options, const HeadLayout& heads) : options_(options), heads_(heads) {}

  /// Forgets the rows before. Their states are for the caller to write.
  float* begin(std::int64_t rows);

  /// Forgets all but these, ascending.
  void keep(std::span<const NodeIndex> kept);

  std::int64_t rows() const { return rows_; }
  float* state() { return state_; }  // [R, M]
  const Activations<T>& read() const { return read_; }

  /// The norm through which a sublayer with that norm reads: none where norms come last.
  const NormParameters& first_norm(const NormParameters& norm) const;

  /// States are written: makes what the first sublayer reads.
  void read_through(const NormParameters& norm);

  /// The states behind a norm, as floats: [R, M], until the next call.
  float* normed(const NormParameters& norm);
  /// Makes the next sublayer read these instead, [R, M].
  void read_instead(float* values);

  /// Queries, keys and values, or some of them: [R, columns of `linear`], until the next call.
  float* project(const PackedLinear<T>& linear);

  /// What attention says, added to the states, to be read through `next`.
  template <typename Kept>
  void attend(const AttentionParameters<T>& parameters, const RowSources<Kept>& sources, const NormParameters& next);

  void feed_forward(const FeedForwardParameters<T>& parameters, const NormParameters& next);

 private:
  void add(const PackedLinear<T>& linear, const Activations<T>& x, const NormParameters& own,
           const NormParameters& next);
  Activations<T> rounded(float* values, std::int64_t columns);

  const TransformerOptions& options_;
  const HeadLayout& heads_;
  std::int64_t rows_ = 0;
  float* state_ = nullptr;
  Activations<T> read_ = {};
  FloatRoom state_room_, normed_room_, projected_room_, attended_room_;
  ActivationRoom<T> read_room_, attended_read_room_, inner_room_;
};

}  // namespace edgewise
