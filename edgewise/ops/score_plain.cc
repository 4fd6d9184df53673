// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

using kernels::ScoreOp;

at::Tensor compute_function(const ScoreNode& node, const std::vector<at::Tensor>& x) {
  switch (node.op) {
    case ScoreOp::kAdd:
      return x[0] + x[1];
    case ScoreOp::kSubtract:
      return x[0] - x[1];
    case ScoreOp::kMultiply:
      return x[0] * x[1];
    case ScoreOp::kDivide:
      return x[0] / x[1];
    case ScoreOp::kAbs:
      return x[0].abs();
    case ScoreOp::kExp:
      return x[0].exp();
    case ScoreOp::kLog:
      return x[0].log();
    case ScoreOp::kTanh:
      return x[0].tanh();
    case ScoreOp::kSigmoid:
      return x[0].sigmoid();
    case ScoreOp::kFloor:
      return x[0].floor();
    case ScoreOp::kSelectLess:
      return at::where(x[0] < x[1], x[2], x[3]);
    case ScoreOp::kSelectLessEqual:
      return at::where(x[0] <= x[1], x[2], x[3]);
    case ScoreOp::kSelectEqual:
      return at::where(x[0] == x[1], x[2], x[3]);
    default:
      fail("Score: node has operation {}, needs a function of numbers", static_cast<int>(node.op));
  }
}

/// Returns the numbers of a table [T, 1] or [T, H] at indices [N, 1] or [N, H].
at::Tensor look_up(const at::Tensor& table, const at::Tensor& index) {
  const auto last = static_cast<double>(table.size(0) - 1);
  const at::Tensor row = index.detach().nan_to_num(0.0, last, 0.0).clamp(0.0, last).to(at::kLong);
  if (row.size(1) == 1) return table.index_select(0, row.squeeze(1));
  return table.expand({table.size(0), row.size(1)}).gather(0, row);
}

/// Returns how many rows a column needs; -1 for a table, which may have any number.
std::int64_t num_rows_of(ScoreTerm term, const Relation& relation, std::int64_t num_heads) {
  switch (term) {
    case ScoreTerm::kOfEdges:
      return relation.num_edges();
    case ScoreTerm::kOfSources:
      return relation.num_sources();
    case ScoreTerm::kOfDestinations:
      return relation.num_destinations();
    case ScoreTerm::kOfHeads:
      return num_heads;
    default:
      return -1;
  }
}

void check_column(std::string_view function, const ScoreNode& node, const Relation& relation, std::int64_t num_heads,
                  at::Device device) {
  const at::Tensor& column = node.column;
  const std::string_view name = score_column_name(node.term);
  const at::ScalarType type = column.scalar_type();
  check(at::isFloatingType(type) || at::isIntegralType(type, /*includeBool=*/true),
        "{}: score has {} of type {}, needs floating-point numbers or integers", function, name, at::toString(type));
  check(column.device() == device, "{}: score has {} on {} but query is on {}, needs one device", function, name,
        column.device().str(), device.str());
  const std::int64_t rows = num_rows_of(node.term, relation, num_heads);
  const bool may_have_heads = node.term != ScoreTerm::kOfHeads;
  const bool has_heads = column.dim() == 2 && may_have_heads && column.size(1) == num_heads;
  const bool has_rows = column.dim() >= 1 && (rows < 0 ? column.size(0) > 0 : column.size(0) == rows);
  const std::string needed = rows < 0 ? "T" : std::to_string(rows);
  check(has_rows && (column.dim() == 1 || has_heads), "{}: score has {} of shape {}, needs [{}]{}{}", function, name,
        shape_text(column), needed, may_have_heads ? fmt::format(" or [{}, {}]", needed, num_heads) : "",
        rows < 0 ? ", with T of at least 1" : "");
}

}  // namespace

std::string_view score_column_name(ScoreTerm term) {
  switch (term) {
    case ScoreTerm::kOfEdges:
      return "a column of edges";
    case ScoreTerm::kOfSources:
      return "a column of sources";
    case ScoreTerm::kOfDestinations:
      return "a column of destinations";
    case ScoreTerm::kOfHeads:
      return "a column of heads";
    default:
      return "a table";
  }
}

void check_score(std::string_view function, const Relation& relation, const Score& score, std::int64_t num_heads,
                 at::Device device) {
  for_each_score_node(score.node(), [&](const ScoreNode& node) {
    if (node.column.defined()) check_column(function, node, relation, num_heads, device);
  });
}

bool reads_product(const Score& score) {
  bool result = false;
  for_each_score_node(score.node(),
                      [&](const ScoreNode& node) { result = result || node.term == ScoreTerm::kProduct; });
  return result;
}

at::Tensor score_column(const at::Tensor& column, at::ScalarType type) {
  const at::Tensor converted = column.to(type);
  return column.dim() == 1 ? converted.unsqueeze(1) : converted;
}

at::Tensor ScoreEvaluator::evaluate(const ScoreNode& root) {
  for_each_score_node(root, [&](const ScoreNode& node) {
    if (!values_.contains(&node)) values_.emplace(&node, evaluate_node(node));
  });
  return values_.at(&root);
}

at::Tensor ScoreEvaluator::evaluate_node(const ScoreNode& node) const {
  switch (node.term) {
    case ScoreTerm::kConstant:
      return at::full({1, 1}, node.constant, at::TensorOptions(device_).dtype(type_));
    case ScoreTerm::kLookup:
      return look_up(score_column(node.column, type_), value(node.arguments[0]));
    case ScoreTerm::kFunction: {
      std::vector<at::Tensor> arguments;
      for (const Score& argument : node.arguments) arguments.push_back(value(argument));
      return compute_function(node, arguments);
    }
    default:
      return leaf_(node);
  }
}

Score score_of_head(const Score& score, std::int64_t head) {
  std::unordered_map<const ScoreNode*, Score> of_head;
  for_each_score_node(score.node(), [&](const ScoreNode& node) {
    ScoreNode copy = node;
    for (Score& argument : copy.arguments) argument = of_head.at(&argument.node());
    if (node.term == ScoreTerm::kOfHeads) {
      copy.column = node.column.narrow(0, head, 1);
    } else if (node.column.defined() && node.column.dim() == 2) {
      copy.column = node.column.narrow(1, head, 1);
    }
    of_head.emplace(&node, ScoreNode::make(std::move(copy)));
  });
  return of_head.at(&score.node());
}

at::Tensor score_plain(const Relation& relation, const Score& score, const at::Tensor& product_EH) {
  const at::ScalarType type = product_EH.scalar_type();
  const EdgeIndexTensors& edges = edge_index_tensors(relation, product_EH.device());
  auto numbers = [&](const at::Tensor& index_E) { return index_E.unsqueeze(1).to(type); };
  ScoreEvaluator evaluator(type, product_EH.device(), [&](const ScoreNode& node) {
    switch (node.term) {
      case ScoreTerm::kProduct:
        return product_EH;
      case ScoreTerm::kSource:
        return numbers(edges.source_E);
      case ScoreTerm::kDestination:
        return numbers(edges.destination_E);
      case ScoreTerm::kDistance:
        return numbers(edges.destination_E - edges.source_E);
      case ScoreTerm::kOfSources:
        return score_column(node.column, type).index_select(0, edges.source_E);
      case ScoreTerm::kOfDestinations:
        return score_column(node.column, type).index_select(0, edges.destination_E);
      case ScoreTerm::kOfHeads:
        return node.column.to(type).unsqueeze(0);
      default:
        return score_column(node.column, type);
    }
  });
  return evaluator.evaluate(score.node()).expand({relation.num_edges(), product_EH.size(1)});
}

}  // namespace edgewise
