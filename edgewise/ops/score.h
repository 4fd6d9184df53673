// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>

// Shapes: D = destinations, S = sources, E = edges, H = heads, T = numbers of a table.
namespace edgewise {

struct ScoreNode;

/// A score function: an expression for the score of an edge and a head, in place of the scaled dot product. attend()
/// and attention_weights() evaluate it inside their kernels, on scores that stay in cache, with its gradients; no
/// tensor [E, H] exists but those that the expression names.
///
///     AttentionOptions options;
///     options.score = 50 * tanh(Score::product() / 50);                                      // soft-capping
///     options.score = Score::product() - Score::of_heads(slope_H) * abs(Score::distance());  // ALiBi
///     options.score = leaky_relu(Score::of_destinations(u_DH) + Score::of_sources(v_SH), 0.2);  // GAT
///
/// Write expressions with + - * / and comparisons, which give 1 or 0, and with the functions below; a number is a
/// constant. A score of -infinity drops the edge.
///
/// Columns and tables are tensors of any floating-point or integer type on the device of the query; they are converted
/// to the type of sums (fp64 if the query is fp64, else fp32, which has all integers up to 2^24). Those of
/// floating-point types are differentiable, as autograd differentiates the same operations. A subexpression of columns
/// of sources alone, of destinations alone, or of distances alone is evaluated once for each of these, in fp64 and in
/// plain ATen, not for each edge. Copies of a Score share the expression.
class Score {
 public:
  Score(double constant);  // NOLINT(google-explicit-constructor): numbers are constants in expressions

  /// The scaled dot product of the edge's query and key.
  static Score product();

  /// The numbers of the edge's source and destination in the relation, and destination - source. In a batch, nodes are
  /// numbered across sentences; the distance of two nodes of one sentence does not depend on the batch.
  static Score source();
  static Score destination();
  static Score distance();

  /// The edge's number in a column: [E] or [E, H], in the order of the relation's edges.
  static Score of_edges(const at::Tensor& column);

  /// The number of the edge's source or destination in a column: [S] or [S, H], [D] or [D, H].
  static Score of_sources(const at::Tensor& column);
  static Score of_destinations(const at::Tensor& column);

  /// The number of the head: [H].
  static Score of_heads(const at::Tensor& column);

  /// Number `index` of a table [T] or [T, H]. The fraction of an index is cut off; a negative index or NaN takes the
  /// first number, and an index from T on the last one. The gradient of a table is summed in a fixed order.
  static Score lookup(const at::Tensor& table, const Score& index);

  friend Score operator+(const Score& a, const Score& b);
  friend Score operator-(const Score& a, const Score& b);
  friend Score operator*(const Score& a, const Score& b);
  friend Score operator/(const Score& a, const Score& b);
  friend Score operator-(const Score& x);

  friend Score operator<(const Score& a, const Score& b);
  friend Score operator<=(const Score& a, const Score& b);
  friend Score operator>(const Score& a, const Score& b);
  friend Score operator>=(const Score& a, const Score& b);
  friend Score operator==(const Score& a, const Score& b);
  friend Score operator!=(const Score& a, const Score& b);

  friend Score abs(const Score& x);
  friend Score exp(const Score& x);
  friend Score log(const Score& x);
  friend Score tanh(const Score& x);
  friend Score sigmoid(const Score& x);
  friend Score floor(const Score& x);

  /// Returns x where the condition is not 0, else y. The gradient of the score passes to the chosen argument.
  friend Score where(const Score& condition, const Score& x, const Score& y);

  const ScoreNode& node() const { return *node_; }

 private:
  friend struct ScoreNode;
  explicit Score(std::shared_ptr<const ScoreNode> node) : node_(std::move(node)) {}

  std::shared_ptr<const ScoreNode> node_;
};

/// Return the smaller or larger argument. The gradient of equal arguments passes to b.
Score min(const Score& a, const Score& b);
Score max(const Score& a, const Score& b);

/// Bounds x to [low, high]; the gradient passes to x within the bounds and at them.
Score clamp(const Score& x, const Score& low, const Score& high);

Score relu(const Score& x);

/// Returns x for positive x, else slope * x.
Score leaky_relu(const Score& x, const Score& slope);

}  // namespace edgewise
