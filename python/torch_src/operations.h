// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tensors.h"

// The operations that library.cc registers. Python (edgewise/torch) checks their arguments and words the errors of
// users; these functions check again what memory safety needs. Shapes: D = destinations, S = sources, E = edges,
// H = heads, K = head size, V = size of a head's value. Edges have the order of the relation's rows. Gradients of
// arguments that need none are tensors of size 0.
namespace edgewise::torch_operations {

/// Returns out [D, H, V], the logarithms of the normalizers [D, H], and `num_saved` weights per head for backward.
std::tuple<Tensor, Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                          const std::optional<Tensor>& edge_bias, const Tensor& row_begin,
                                          const Tensor& sources, const Tensor& handle,
                                          const std::optional<Tensor>& seed, double scale, std::optional<double> clamp,
                                          double dropout, std::int64_t num_saved);

/// Returns the gradients of query, key, value and edge_bias.
std::tuple<Tensor, Tensor, Tensor, Tensor> attend_backward(const Tensor& grad_out, const Tensor& query,
                                                           const Tensor& key, const Tensor& value,
                                                           const std::optional<Tensor>& edge_bias, const Tensor& out,
                                                           const Tensor& log_normalizer, const Tensor& saved_weights,
                                                           const Tensor& row_begin, const Tensor& sources,
                                                           const Tensor& handle, const std::optional<Tensor>& seed,
                                                           double scale, std::optional<double> clamp, double dropout,
                                                           bool needs_bias_gradient);

/// Returns the weights [E, H] of `num_edges` edges. Float32 and float64 only, as all functions below.
Tensor attention_weights(const Tensor& query, const Tensor& key, const std::optional<Tensor>& edge_bias,
                         const Tensor& row_begin, const Tensor& sources, const Tensor& handle, std::int64_t num_edges,
                         double scale, std::optional<double> clamp);

/// Returns the gradients of query, key and edge_bias.
std::tuple<Tensor, Tensor, Tensor> attention_weights_backward(const Tensor& grad_weight, const Tensor& weight,
                                                              const Tensor& query, const Tensor& key,
                                                              const Tensor& row_begin, const Tensor& sources,
                                                              const Tensor& handle, double scale,
                                                              std::optional<double> clamp);

/// Returns the softmax of scores [E, H] over the edges into each destination.
Tensor edge_softmax(const Tensor& score, const Tensor& row_begin, const Tensor& sources, const Tensor& handle,
                    std::int64_t num_sources);
Tensor edge_softmax_backward(const Tensor& grad_weight, const Tensor& weight, const Tensor& row_begin,
                             const Tensor& sources, const Tensor& handle, std::int64_t num_sources);

/// Returns the sums [D, H, V] of values [S, H, V] times weights [E, H] over the edges into each destination.
Tensor aggregate(const Tensor& weight, const Tensor& value, const Tensor& row_begin, const Tensor& sources,
                 const Tensor& handle);

/// Returns the gradients of weight and value.
std::tuple<Tensor, Tensor> aggregate_backward(const Tensor& grad_out, const Tensor& weight, const Tensor& value,
                                              const Tensor& row_begin, const Tensor& sources, const Tensor& handle);

}  // namespace edgewise::torch_operations
