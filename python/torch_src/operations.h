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

/// Returns out [D, H, V], the logarithms of the normalizers [D, H] and what attend() saves, of attention with keys
/// [E, H, K] and values [E, H, V] of edges, and with a score function (kernels/score/score_program.h,
/// compile_score_code), unless `nodes` is empty. `columns` have the type of sums: [E, 1] or [E, H] for edges, else [1,
/// padding + n + padding] or [H, …], with kernels::kScorePadding numbers as padding. `domains` (a ScoreDomain),
/// `firsts` (of distances: the smallest source - destination) and `needed` (whether there is a gradient, which needs
/// all heads except for edges) have a number for each column.
std::tuple<Tensor, Tensor, Tensor> attend_score(
    const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& edge_key,
    const std::optional<Tensor>& edge_value, const std::vector<Tensor>& columns, const Tensor& row_begin,
    const Tensor& sources, const Tensor& handle, const std::optional<Tensor>& seed,
    const std::vector<std::int64_t>& nodes, const std::vector<double>& constants,
    const std::vector<std::int64_t>& domains, const std::vector<std::int64_t>& firsts,
    const std::vector<std::int64_t>& needed, double scale, double dropout, std::int64_t num_saved);

/// Returns the gradients of query, key, value, edge_key, edge_value and columns: of columns of edges in the shape of
/// the column, of others [H, n].
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, std::vector<Tensor>> attend_score_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
    const std::optional<Tensor>& edge_key, const std::optional<Tensor>& edge_value, const Tensor& out,
    const Tensor& log_normalizer, const Tensor& saved_weights, const std::vector<Tensor>& columns,
    const Tensor& row_begin, const Tensor& sources, const Tensor& handle, const std::optional<Tensor>& seed,
    const std::vector<std::int64_t>& nodes, const std::vector<double>& constants,
    const std::vector<std::int64_t>& domains, const std::vector<std::int64_t>& firsts,
    const std::vector<std::int64_t>& needed, double scale, double dropout, bool needs_edge_key_gradient,
    bool needs_edge_value_gradient);

/// Returns the weights [E, H] of `num_edges` edges of attention with keys of edges and a score function, without
/// gradients.
Tensor attention_weights_score(const Tensor& query, const Tensor& key, const std::optional<Tensor>& edge_key,
                               const std::vector<Tensor>& columns, const Tensor& row_begin, const Tensor& sources,
                               const Tensor& handle, std::int64_t num_edges, const std::vector<std::int64_t>& nodes,
                               const std::vector<double>& constants, const std::vector<std::int64_t>& domains,
                               const std::vector<std::int64_t>& firsts, double scale);

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

// Messages (kernels/message/edge_sum.h). `op` is 0 for the left operand, 1 for the sum, 2 for the difference, 3 for the
// product, 4 for the quotient. `left_rows`, `right_rows` and `rows_of` say whose rows a tensor has: 0 sources,
// 1 destinations, 2 edges. `…numbers` have the row of each edge of the relation in a tensor of edges, int64 [E].

/// Returns the sums of messages over the edges of each source or destination, or the messages of edges: [num_rows, …].
/// With `numbers`, rows of no edge are zeros.
Tensor edge_sum(const Tensor& left, const std::optional<Tensor>& right, const std::optional<Tensor>& left_numbers,
                const std::optional<Tensor>& right_numbers, const std::optional<Tensor>& numbers,
                const Tensor& row_begin, const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                std::int64_t op, std::int64_t left_rows, std::int64_t right_rows, std::int64_t rows_of,
                std::int64_t num_rows, std::vector<std::int64_t> row_shape);

/// Returns several sums over the edges of each source or destination, which one pass computes. `messages` has 8 numbers
/// for each: op; of the left operand the tensor, its rows and its numbers; the same of the right operand; how many of
/// `row_shapes` are the shape of a row. -1 means no tensor. All tensors have one type.
std::vector<Tensor> edge_sums(const std::vector<Tensor>& tensors, const std::vector<Tensor>& numbers,
                              const Tensor& row_begin, const Tensor& sources, const Tensor& handle,
                              std::int64_t num_sources, const std::vector<std::int64_t>& messages,
                              const std::vector<std::int64_t>& row_shapes, bool by_source);

/// Returns the largest or smallest messages at each destination, and the entry of the row that has each, int32, one
/// after the other; none unless `needs_entries`.
std::tuple<Tensor, Tensor> edge_extremum(const Tensor& left, const std::optional<Tensor>& right,
                                         const std::optional<Tensor>& left_numbers,
                                         const std::optional<Tensor>& right_numbers, const Tensor& row_begin,
                                         const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                                         std::int64_t op, std::int64_t left_rows, std::int64_t right_rows,
                                         bool is_maximum, bool needs_entries, std::vector<std::int64_t> row_shape);

/// Returns the gradients of left and right, in float64 for float64, else in float32.
std::tuple<Tensor, Tensor> edge_extremum_backward(const Tensor& grad_out, const Tensor& entry, const Tensor& left,
                                                  const std::optional<Tensor>& right,
                                                  const std::optional<Tensor>& left_numbers,
                                                  const std::optional<Tensor>& right_numbers, const Tensor& row_begin,
                                                  const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                                                  std::int64_t op, std::int64_t left_rows, std::int64_t right_rows);

}  // namespace edgewise::torch_operations
