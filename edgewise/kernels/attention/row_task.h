// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/row_attention.h"
#include "edgewise/kernels/score/score_inputs.h"
#include "edgewise/kernels/simd/scratch.h"

// The arguments of the row kernels, for one head. Variants hold the type of elements in memory, so that one compiled
// function per instruction set serves float and bf16.
namespace edgewise::kernels {

using ConstElements = std::variant<const float*, const BFloat16*>;
using Elements = std::variant<float*, BFloat16*>;

/// One head of a tensor [N, H, size].
template <class AnyPointer>
struct HeadRows {
  AnyPointer data;
  std::int64_t num_heads;
  std::int64_t head;
  std::int64_t size;

  std::int64_t offset(std::int64_t row) const { return (row * num_heads + head) * size; }
};

/// A contiguous matrix of floats. Each row holds a row of a first matrix and then a row of a second matrix, both
/// followed by zeros up to whole vectors.
struct RowTable {
  float* data;
  std::int64_t first_size;   // floats of a row of the first matrix, with its zeros
  std::int64_t second_size;  // floats of a row of the second matrix, with its zeros

  std::int64_t stride() const { return first_size + second_size; }
};

/// The inputs of every pass over rows.
struct RowTask {
  RelationView relation;
  EdgeIndex longest_row;
  std::int64_t num_heads;
  RowTable keys_and_values;
  HeadRows<ConstElements> query;
  const float* edge_bias;  // [E, H] starting at this head, or null
  float scale;
  float clamp;
  Dropout dropout;
  std::int64_t head;
  bool is_first_head;                  // whether `head` is the first of the heads to compute
  float* log_normalizer;               // [D, H] starting at this head
  const ScoreInputs<float>* score;     // the score function, or null
  HeadRows<ConstElements> edge_key;    // rows of edges; without data for none
  HeadRows<ConstElements> edge_value;  // rows of edges; without data for none
};

/// Returns whether a HeadRows has no data.
template <class AnyPointer>
bool is_absent(const HeadRows<AnyPointer>& rows) {
  return std::visit([](const auto* data) { return data == nullptr; }, rows.data);
}

/// The factors of one edge in the gradients of its source.
struct EdgeCoefficients {
  float value;  // the edge adds value * grad_out to grad_value
  float key;    // the edge adds key * query to grad_key
};

/// The gradients of a score function that other rows than an edge's own take part in.
struct RowScoreGradients {
  std::vector<float*> of_sources;  // by column, null unless of sources: [E], an input of the pass over sources
  SharedGradients<float>* shared = nullptr;  // with one head
};

/// Backward over rows: gradients of queries and biases, and the coefficients of every edge.
struct RowDestinationTask : RowTask {
  HeadRows<ConstElements> grad_out;
  HeadRows<Elements> grad_query;
  float* grad_edge_bias;                     // [E, H] starting at this head, or null
  EdgeCoefficients* coefficients;            // [E], an input of the pass over sources
  const RowScoreGradients* score_gradients;  // or null without a score function
  HeadRows<Elements> grad_edge_key;          // rows of edges; without data for none
  HeadRows<Elements> grad_edge_value;        // rows of edges; without data for none
};

/// Backward over sources: gradients of keys and values.
struct RowSourceTask {
  EdgeRows edges;
  RowTable queries_and_grad_outs;
  const EdgeCoefficients* coefficients;
  HeadRows<Elements> grad_key;  // rows of the head of keys and values
  HeadRows<Elements> grad_value;
  std::int64_t head;
  // The sums of gradients over heads that share keys and values, [S, queries_and_grad_outs.stride()]; null if none do.
  float* group_sums;
  bool begins_group;                // whether the head is the first one of those that share its keys and values
  bool ends_group;                  // whether it is the last one
  const ScoreInputs<float>* score;  // or null
  const RowScoreGradients* score_gradients;  // or null
};

/// Returns a pointer to the first number of a head in [N, H]. Null stays null.
inline const float* from_head(const float* data, std::int64_t head) { return data == nullptr ? nullptr : data + head; }
inline float* from_head(float* data, std::int64_t head) { return data == nullptr ? nullptr : data + head; }

template <typename T>
RowTask make_row_task(const AttentionForward<T>& p, const EdgeOrders& edges, const RowTable& keys_and_values,
                      std::int64_t head) {
  return {.relation = edges.relation(),
          .longest_row = edges.longest_row(),
          .num_heads = p.num_heads,
          .keys_and_values = keys_and_values,
          .query = {p.query, p.num_heads, head, p.head_size},
          .edge_bias = from_head(p.edge_bias, head),
          .scale = p.scale,
          .clamp = p.clamp,
          .dropout = p.dropout,
          .head = head,
          .is_first_head = head == p.heads().begin,
          .log_normalizer = from_head(p.log_normalizer, head),
          .score = p.score,
          .edge_key = {p.edge_key, p.num_heads, head, p.head_size},
          .edge_value = {p.edge_value, p.num_heads, head, p.value_size}};
}

/// The memory of a RowTable for one head at a time. In a tensor [N, H, K] the rows of a head are H * K elements apart:
/// if H and K are powers of two, these rows map to few sets of a cache, which then holds only a few of them.
class PackedRows {
 public:
  PackedRows(std::int64_t num_rows, std::int64_t first_size, std::int64_t second_size);

  /// Overwrites the table with rows of `first` and `second`, which must have the sizes given to the constructor.
  void pack(const HeadRows<ConstElements>& first, const HeadRows<ConstElements>& second);

  const RowTable& table() const { return table_; }

 private:
  std::int64_t num_rows_;
  AlignedBuffer memory_;
  RowTable table_;
};

}  // namespace edgewise::kernels
