// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Runs rows through the sublayers of a model's layers, for inference only. Holds the rows' states and the input of the
/// next sublayer, which is the norm of the states (pre-norm) or the states themselves (post-norm; nn/sublayer.h has the
/// formulas). A sublayer computes the input of the next one, so it is given the next one's norm. Buffers are reused. T
/// is the type of weights. Shapes: R = rows, M = size of a state.
template <typename T>
class SublayerRunner {
 public:
  SublayerRunner(const TransformerOptions& options, const HeadLayout& heads) : options_(options), heads_(heads) {}

  /// Replaces all rows by `rows` new ones. Returns their states, [R, M], which the caller writes.
  float* begin(std::int64_t rows);

  /// Keeps only the states of the rows `kept`, which ascend. The input must then be set anew.
  void keep_rows(std::span<const NodeIndex> kept);

  /// Replaces the state of each row i by that of row former[i], and computes all these rows. The input must then be set
  /// anew.
  void reorder_rows(std::span<const NodeIndex> former);

  /// Computes only the first `rows` rows from now on, or more of those that begin() made. The states and the input of
  /// the others stay.
  void compute_first(std::int64_t rows) { rows_ = rows; }

  std::int64_t num_rows() const { return rows_; }
  float* state() { return state_; }  // [R, M]
  const Activations<T>& input() const { return input_; }

  /// Returns the input as the operand of a product with `linear`. Unless it has been rounded by the input multiplier of
  /// `linear`, it is rounded anew, from the states, which are the input in a model with such multipliers.
  const Activations<T>& input_of(const PackedLinear<T>& linear);

  /// Returns the norm to apply before a sublayer with norm `norm`: `norm` itself, or no norm in a post-norm model.
  const NormParameters& pre_norm(const NormParameters& norm) const;

  /// Sets the input of the next sublayer to norm(states).
  void prepare_input(const NormParameters& norm);

  /// Sets the input of the next sublayer to `values`, [R, M].
  void set_input(float* values);

  /// Returns norm(states), [R, M], valid until the next call.
  float* apply_norm(const NormParameters& norm);

  /// Returns linear(input), [R, linear.out()], valid until the next call.
  float* project(const PackedLinear<T>& linear);

  /// Adds the projected output of attention to the states, and norms the sum in a post-norm model. `next` is the
  /// pre_norm of the next sublayer, or the final norm. The caller sets the ranges, sources, key_offset, query,
  /// query_stride and weights of `p`; a value follows its key. E is the type of keys and values.
  template <typename E>
  void attend(const AttentionParameters<T>& parameters, kernels::NodeAttention<E> p, const NormParameters& next);

  /// Adds the result of an SSRU with the weights `linear` and the norm `own` (nn/ssru.h) to the states, and norms the
  /// sum in a post-norm model. Row r has the cell cells[r], [M], which the function writes, and the cell before it
  /// before[r], null for zeros, which may be that of an earlier row. `next` is as in attend.
  void recur(const PackedLinear<T>& linear, const NormParameters& own, std::span<const float* const> before,
             std::span<float* const> cells, const NormParameters& next);

  /// Adds feed_forward(input) to the states, and norms the sum in a post-norm model. `next` is as in attend.
  void feed_forward(const FeedForwardParameters<T>& parameters, const NormParameters& next);

 private:
  template <typename E>
  void scale_queries(kernels::NodeAttention<E>& p);
  template <class Add>
  void add_residual(const NormParameters& own, const NormParameters& next, Add add);
  Activations<T> convert(float* values, std::int64_t columns, const PackedLinear<T>& linear);

  const TransformerOptions& options_;
  const HeadLayout& heads_;
  std::int64_t rows_ = 0;
  float* state_ = nullptr;
  Activations<T> input_ = {};
  float input_multiplier_ = 0;  // by which the input has been rounded; 0: each row by a scale of its own
  FloatBuffer state_buffer_, normed_buffer_, projected_buffer_, attended_buffer_, scaled_buffer_;
  ActivationBuffer<T> input_buffer_, converted_buffer_, inner_buffer_;
};

/// Runs rows through the layers of an encoder or a decoder, over the sublayers of a backend: SublayerRunner, or
/// GpuSublayers. The rows have the states that enter the first layer; their input becomes the final norm of the states.
/// attend(i, next) runs the attention of layer i, one or two sublayers; `next` is the norm after the last of them.
template <class Sublayers, typename T, class Attend>
void run_layers(Sublayers& rows, const StackParameters<T>& stack, Attend attend) {
  const LayerList<T>& layers = stack.layers;
  rows.prepare_input(rows.pre_norm(layers.front().self_attention.norm));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    attend(i, rows.pre_norm(layers[i].feed_forward.norm));
    const bool is_last = i + 1 == layers.size();
    rows.feed_forward(layers[i].feed_forward, is_last ? stack.norm : rows.pre_norm(layers[i + 1].self_attention.norm));
  }
}

}  // namespace edgewise
