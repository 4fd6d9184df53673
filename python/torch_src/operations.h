// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

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

/// Attention with a score function (kernels/score/score_program.h). `columns` are in the layout of kernels: [E, 1] or
/// [E, H] for edges, else [1, n] or [H, n] with kScorePadding numbers before and after. `domains` (ScoreDomain) and
/// `firsts` belong to columns. A node has six numbers in `nodes`: its ScoreOp, its column, and four nodes before it;
/// the last node is the score. Returns out and the logarithms of the normalizers.
std::tuple<Tensor, Tensor> attend_score(const Tensor& query, const Tensor& key, const Tensor& value,
                                        std::vector<Tensor> columns, const Tensor& row_begin, const Tensor& sources,
                                        const Tensor& handle, const std::optional<Tensor>& seed,
                                        std::vector<std::int64_t> nodes, std::vector<double> constants,
                                        std::vector<std::int64_t> domains, std::vector<std::int64_t> firsts,
                                        std::vector<std::int64_t> needs_gradient, double scale, double dropout);

/// Returns the gradients of query, key, value and the columns: [E, 1] or [E, H] for edges, else [1, n] or [H, n].
std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> attend_score_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
    const Tensor& log_normalizer, std::vector<Tensor> columns, const Tensor& row_begin, const Tensor& sources,
    const Tensor& handle, const std::optional<Tensor>& seed, std::vector<std::int64_t> nodes,
    std::vector<double> constants, std::vector<std::int64_t> domains, std::vector<std::int64_t> firsts,
    std::vector<std::int64_t> needs_gradient, double scale, double dropout);

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
