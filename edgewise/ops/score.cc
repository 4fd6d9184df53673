// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/score.h"

#include "edgewise/base/error.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

using kernels::ScoreOp;

Score make_leaf(ScoreTerm term, const at::Tensor& column = {}) {
  return ScoreNode::make({.term = term, .column = column});
}

Score make_column(ScoreTerm term, const at::Tensor& column) {
  check(column.defined(), "Score: {} is undefined, needs a tensor", score_column_name(term));
  return make_leaf(term, column);
}

Score apply(ScoreOp op, std::vector<Score> arguments) {
  return ScoreNode::make({.term = ScoreTerm::kFunction, .op = op, .arguments = std::move(arguments)});
}

bool is_comparison(const ScoreNode& node) {
  if (node.term != ScoreTerm::kFunction || node.arguments.size() != 4) return false;
  auto is_number = [&](std::size_t i, double value) {
    const ScoreNode& argument = node.arguments[i].node();
    return argument.term == ScoreTerm::kConstant && argument.constant == value;
  };
  return is_number(2, 1.0) && is_number(3, 0.0);
}

}  // namespace

Score::Score(double constant) : Score(ScoreNode::make({.term = ScoreTerm::kConstant, .constant = constant})) {}

Score Score::product() { return make_leaf(ScoreTerm::kProduct); }
Score Score::source() { return make_leaf(ScoreTerm::kSource); }
Score Score::destination() { return make_leaf(ScoreTerm::kDestination); }
Score Score::distance() { return make_leaf(ScoreTerm::kDistance); }
Score Score::of_edges(const at::Tensor& column) { return make_column(ScoreTerm::kOfEdges, column); }
Score Score::of_sources(const at::Tensor& column) { return make_column(ScoreTerm::kOfSources, column); }
Score Score::of_destinations(const at::Tensor& column) { return make_column(ScoreTerm::kOfDestinations, column); }
Score Score::of_heads(const at::Tensor& column) { return make_column(ScoreTerm::kOfHeads, column); }

Score Score::lookup(const at::Tensor& table, const Score& index) {
  check(table.defined(), "Score: {} is undefined, needs a tensor", score_column_name(ScoreTerm::kLookup));
  return ScoreNode::make({.term = ScoreTerm::kLookup, .column = table, .arguments = {index}});
}

Score operator+(const Score& a, const Score& b) { return apply(ScoreOp::kAdd, {a, b}); }
Score operator-(const Score& a, const Score& b) { return apply(ScoreOp::kSubtract, {a, b}); }
Score operator*(const Score& a, const Score& b) { return apply(ScoreOp::kMultiply, {a, b}); }
Score operator/(const Score& a, const Score& b) { return apply(ScoreOp::kDivide, {a, b}); }
Score operator-(const Score& x) { return 0.0 - x; }

Score operator<(const Score& a, const Score& b) { return apply(ScoreOp::kSelectLess, {a, b, 1.0, 0.0}); }
Score operator<=(const Score& a, const Score& b) { return apply(ScoreOp::kSelectLessEqual, {a, b, 1.0, 0.0}); }
Score operator>(const Score& a, const Score& b) { return b < a; }
Score operator>=(const Score& a, const Score& b) { return b <= a; }
Score operator==(const Score& a, const Score& b) { return apply(ScoreOp::kSelectEqual, {a, b, 1.0, 0.0}); }
Score operator!=(const Score& a, const Score& b) { return apply(ScoreOp::kSelectEqual, {a, b, 0.0, 1.0}); }

Score abs(const Score& x) { return apply(ScoreOp::kAbs, {x}); }
Score exp(const Score& x) { return apply(ScoreOp::kExp, {x}); }
Score log(const Score& x) { return apply(ScoreOp::kLog, {x}); }
Score tanh(const Score& x) { return apply(ScoreOp::kTanh, {x}); }
Score sigmoid(const Score& x) { return apply(ScoreOp::kSigmoid, {x}); }
Score floor(const Score& x) { return apply(ScoreOp::kFloor, {x}); }

Score where(const Score& condition, const Score& x, const Score& y) {
  const ScoreNode& node = condition.node();
  if (is_comparison(node)) return apply(node.op, {node.arguments[0], node.arguments[1], x, y});
  return apply(ScoreOp::kSelectEqual, {condition, 0.0, y, x});
}

Score min(const Score& a, const Score& b) { return where(a < b, a, b); }
Score max(const Score& a, const Score& b) { return where(a > b, a, b); }
Score clamp(const Score& x, const Score& low, const Score& high) {
  return where(x < low, low, where(x > high, high, x));
}
Score relu(const Score& x) { return where(x > 0.0, x, 0.0); }
Score leaky_relu(const Score& x, const Score& slope) { return where(x > 0.0, x, slope * x); }

}  // namespace edgewise
