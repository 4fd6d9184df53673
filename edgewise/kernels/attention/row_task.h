// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/row_plan.h"

// What the row kernels work on: one head at a time, whatever the type of its elements in memory.
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

/// Rows of floats that lie one after the other: each is a row of one matrix and then a row of another, both filled up
/// with zeros to whole vectors.
struct RowTable {
  float* data;
  std::int64_t first_size;
  std::int64_t second_size;

  std::int64_t stride() const { return first_size + second_size; }
};

/// What every pass over rows reads.
struct RowTask {
  RelationView relation;
  EdgeIndex longest_row;
  std::int64_t num_heads;
  RowTable keys_and_values;
  HeadRows<ConstElements> query;
  const float* edge_bias;  // [E, H] from this head on, or null
  float scale;
  float clamp;
  Dropout dropout;
  std::int64_t head;
  float* log_normalizer;  // [D, H] from this head on
};

struct RowForwardTask {
  RowTask rows;
  HeadRows<Elements> out;
};

struct RowWeightsTask {
  RowTask rows;
  float* weight;  // [E, H] from this head on
};

/// By what an edge multiplies the gradient of out, for its value, and the query, for its key.
struct EdgeCoefficients {
  float value;
  float key;
};

/// The pass over rows of backward.
struct RowDestinationTask {
  RowTask rows;
  HeadRows<ConstElements> grad_out;
  HeadRows<Elements> grad_query;
  float* grad_edge_bias;           // [E, H] from this head on, or null
  EdgeCoefficients* coefficients;  // [E], for the pass over sources
};

/// The pass over sources of backward.
struct RowSourceTask {
  const EdgesBySource& edges;
  RowTable queries_and_grad_outs;
  const EdgeCoefficients* coefficients;
  HeadRows<Elements> grad_key;
  HeadRows<Elements> grad_value;
};

/// The pointer to the numbers of one head in [N, H]; null stays null.
inline const float* from_head(const float* data, std::int64_t head) { return data == nullptr ? nullptr : data + head; }
inline float* from_head(float* data, std::int64_t head) { return data == nullptr ? nullptr : data + head; }

template <typename T>
RowTask row_task(const AttentionForward<T>& p, const RowPlan& plan, const RowTable& keys_and_values,
                 std::int64_t head) {
  return {.relation = p.relation,
          .longest_row = plan.longest_row(),
          .num_heads = p.num_heads,
          .keys_and_values = keys_and_values,
          .query = {p.query, p.num_heads, head, p.head_size},
          .edge_bias = from_head(p.edge_bias, head),
          .scale = p.scale,
          .clamp = p.clamp,
          .dropout = p.dropout,
          .head = head,
          .log_normalizer = from_head(p.log_normalizer, head)};
}

}  // namespace edgewise::kernels
