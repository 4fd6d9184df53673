// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/message/edge_rows.h"
#include "edgewise/kernels/message/row_broadcast.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// Messages along edges and their sums and extrema. A message is an operation on two rows, each of which belongs to the
// output's row, to the node at the other end of the edge, or to the edge. T is float, double or BFloat16; messages and
// sums of BFloat16 are floats, and a result is rounded once. Results have the same bits for any number of threads. No
// function allocates memory in proportion to the edges, except for rows of more than kMaxPieceEdges edges: a result for
// each piece.
namespace edgewise::kernels {

enum class EdgeOperator { kCopy, kAdd, kSubtract, kMultiply, kDivide };  // kCopy: the left operand

/// The owner of the row that an operand reads: the output's row, the node at the other end, or the edge.
enum class EdgeEnd { kRow, kOther, kEdge };

/// A tensor [num_rows, row size of the broadcast].
template <typename T>
struct EdgeOperand {
  const T* data = nullptr;
  EdgeEnd end = EdgeEnd::kRow;
  std::int64_t num_rows = 0;
  const std::int64_t* numbers = nullptr;  // with kEdge: [E], the row of each edge of the relation, or null: its number
};

template <typename T>
struct RowMessage {
  EdgeOperator op = EdgeOperator::kCopy;
  EdgeOperand<T> left;
  EdgeOperand<T> right;                     // not read by kCopy
  const RowBroadcast* broadcast = nullptr;  // rows of left, right and out; with kCopy, right is a row of 1
};

/// out[r] = sum over the entries of row r of message(entry), summed over the dimensions that `broadcast` sums.
template <typename T>
struct SumEdges {
  RowMessage<T> message;
  T* out;  // [R, out_size]
};

/// out[edge] = message(entry) for the edge of each entry, summed over the dimensions that `broadcast` sums.
template <typename T>
struct WriteEdges {
  RowMessage<T> message;
  T* out;                                 // [rows, out_size]; rows of no edge are not written
  const std::int64_t* numbers = nullptr;  // as in EdgeOperand
};

/// out[r] = the largest or smallest message of row r, element by element; 0 in a row without entries. A NaN is larger
/// and smaller than every number.
template <typename T>
struct FindExtrema {
  RowMessage<T> message;  // its output is the whole broadcast row
  bool is_maximum;
  T* out;               // [R, size]
  std::int32_t* entry;  // [R, size], the first entry with the extremum, counted from the row's first, or -1; or null
};

/// Adds the gradients of extrema to those of the operands, whose memory holds zeros before. The gradient of an element
/// goes to the entry that has the extremum.
template <typename T>
struct DifferentiateExtrema {
  RowMessage<T> message;
  const std::int32_t* entry;       // [R, size], from FindExtrema
  const T* grad_out;               // [R, size]
  AccumulatorType<T>* grad_left;   // rows of the left operand, or null
  AccumulatorType<T>* grad_right;  // rows of the right operand, or null
};

/// Computes several sums in one pass over the rows, so that the sums share the rows that they read.
template <typename T>
void sum_edges(std::span<const SumEdges<T>> sums, const EdgeRows& rows);

template <typename T>
void write_edges(const WriteEdges<T>& p, const EdgeRows& rows);

template <typename T>
void find_extrema(const FindExtrema<T>& p, const EdgeRows& rows);

/// Takes O(R · size) time, whatever the number of edges.
template <typename T>
void differentiate_extrema(const DifferentiateExtrema<T>& p, const EdgeRows& rows);

/// Compute sums, messages and extrema in plain loops, on one thread.
namespace reference {

template <typename T>
void sum_edges(std::span<const SumEdges<T>> sums, const EdgeRows& rows);
template <typename T>
void write_edges(const WriteEdges<T>& p, const EdgeRows& rows);
template <typename T>
void find_extrema(const FindExtrema<T>& p, const EdgeRows& rows);

}  // namespace reference
}  // namespace edgewise::kernels
