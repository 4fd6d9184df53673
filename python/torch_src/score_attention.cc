// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/score/score_inputs.h"
#include "edgewise/kernels/score/score_program.h"
#include "operations.h"
#include "relations.h"

namespace edgewise::torch_operations {
namespace {

using kernels::AccumulatorType;
using kernels::ScoreDomain;
using kernels::ScoreGraph;
using kernels::ScoreOp;

constexpr auto kName = "attend";
constexpr std::int64_t kNumbersPerNode = 6;  // the operation, the column, four nodes

struct AttentionTensors {
  Tensor query, key, value;
};

/// The arguments that forward and backward share.
struct ScoreArguments {
  const std::vector<Tensor>& columns;
  const std::vector<std::int64_t>& nodes;
  const std::vector<double>& constants;
  const std::vector<std::int64_t>& domains;
  const std::vector<std::int64_t>& firsts;
  const std::vector<std::int64_t>& needs_gradient;
  const std::optional<Tensor>& seed;
  double scale;
  double dropout;
};

/// Compiles the function whose nodes Python lists: each node's arguments are before the node, and the last node is the
/// score.
kernels::ScoreProgram compile(const ScoreArguments& a) {
  const auto num_nodes = static_cast<std::int64_t>(a.constants.size());
  const auto num_columns = static_cast<std::int64_t>(a.columns.size());
  check(num_nodes > 0 && static_cast<std::int64_t>(a.nodes.size()) == kNumbersPerNode * num_nodes,
        "{}: the score function has {} numbers for {} nodes, needs {} for each", kName, a.nodes.size(), num_nodes,
        kNumbersPerNode);
  ScoreGraph graph;
  std::vector<ScoreGraph::Node> made;
  for (std::int64_t i = 0; i < num_nodes; ++i) {
    const std::int64_t* node = a.nodes.data() + kNumbersPerNode * i;
    const auto op = static_cast<ScoreOp>(node[0]);
    const bool has_column = op == ScoreOp::kColumn || op == ScoreOp::kLookup;
    check(node[0] >= 0 && node[0] <= static_cast<std::int64_t>(ScoreOp::kLookup) && op != ScoreOp::kGradient,
          "{}: node {} of the score function has operation {}", kName, i, node[0]);
    check(!has_column || (node[1] >= 0 && node[1] < num_columns), "{}: node {} of the score function has column {}",
          kName, i, node[1]);
    check(!has_column ||
              (a.domains[node[1]] == static_cast<std::int64_t>(ScoreDomain::kTable)) == (op == ScoreOp::kLookup),
          "{}: node {} of the score function has a column of another kind", kName, i);
    ScoreGraph::Node arguments[4] = {};
    for (int k = 0; k < num_arguments(op); ++k) {
      check(node[2 + k] >= 0 && node[2 + k] < i, "{}: node {} of the score function has argument {}", kName, i,
            node[2 + k]);
      arguments[k] = made[node[2 + k]];
    }
    const auto column = static_cast<std::int32_t>(node[1]);
    if (op == ScoreOp::kConstant) {
      made.push_back(graph.constant(a.constants[i]));
    } else if (op == ScoreOp::kProduct) {
      made.push_back(graph.product());
    } else if (op == ScoreOp::kColumn) {
      made.push_back(graph.column(column));
    } else if (op == ScoreOp::kLookup) {
      made.push_back(graph.lookup(column, arguments[0]));
    } else {
      made.push_back(graph.apply(op, arguments[0], arguments[1], arguments[2], arguments[3]));
    }
  }
  return graph.compile(made.back(), {a.needs_gradient.begin(), a.needs_gradient.end()});
}

/// Checks that all differences source - destination are in [first, first + size).
void check_distances(const Relation& relation, std::int64_t first, std::int64_t size) {
  const RelationView view = relation.view();
  for (std::int64_t row = 0; row < view.num_destinations; ++row) {
    const EdgeIndex begin = view.row_begin[row];
    const EdgeIndex end = view.row_begin[row + 1];
    if (begin == end) continue;
    NodeIndex smallest = 0;
    NodeIndex largest = 0;
    if (view.intervals != nullptr) {
      smallest = view.intervals[row].begin;
      largest = view.intervals[row].end - 1;
    } else {
      const auto [low, high] = std::minmax_element(view.sources + begin, view.sources + end);
      smallest = *low;
      largest = *high;
    }
    check(smallest - row >= first && largest - row < first + size,
          "{}: a column of distances does not have all distances of the relation", kName);
  }
}

/// Checks a column in the layout of kernels: [E, 1] or [E, H] for edges, else [1, n] or [H, n] with padding.
void check_column(const ScoreArguments& a, std::size_t i, const Relation& relation, const Tensor& query) {
  const Tensor& column = a.columns[i];
  const auto domain = static_cast<ScoreDomain>(a.domains[i]);
  check(a.domains[i] >= 0 && a.domains[i] <= static_cast<std::int64_t>(ScoreDomain::kTable),
        "{}: column {} of the score function has domain {}", kName, i, a.domains[i]);
  check(column.is_cpu() && column.is_contiguous() && column.dim() == 2,
        "{}: column {} of the score function needs to be a contiguous matrix on the CPU", kName, i);
  check_type(kName, "a column", column, accumulator_type(query));
  const bool is_of_edges = domain == ScoreDomain::kEdges;
  const std::int64_t heads = column.size(is_of_edges ? 1 : 0);
  const std::int64_t size = is_of_edges ? column.size(0) : column.size(1) - 2 * kernels::kScorePadding;
  check((heads == 1 || heads == query.size(1)) && size >= 0 && (domain != ScoreDomain::kTable || size > 0),
        "{}: column {} of the score function has the sizes {} and {}", kName, i, column.size(0), column.size(1));
  if (domain == ScoreDomain::kTable) return;
  if (domain == ScoreDomain::kDistances) return check_distances(relation, a.firsts[i], size);
  const std::int64_t needed = is_of_edges                       ? relation.num_edges()
                              : domain == ScoreDomain::kSources ? relation.num_sources()
                                                                : relation.num_destinations();
  check(size == needed, "{}: column {} of the score function has {} numbers, needs {}", kName, i, size, needed);
}

Relation find_relation_of(const AttentionTensors& t, const ScoreArguments& a, const RelationTensors& tensors) {
  check(t.query.dim() == 3 && t.key.dim() == 3 && t.value.dim() == 3, "{}: query, key and value need three dimensions",
        kName);
  Relation relation = find_relation(kName, tensors, t.key.size(0));
  const std::int64_t num_heads = t.query.size(1);
  check_shape(kName, "query", t.query, {relation.num_destinations(), num_heads, t.query.size(2)});
  check_shape(kName, "key", t.key, {relation.num_sources(), num_heads, t.query.size(2)});
  check_shape(kName, "value", t.value, {relation.num_sources(), num_heads, t.value.size(2)});
  check_type(kName, "key", t.key, t.query.scalar_type());
  check_type(kName, "value", t.value, t.query.scalar_type());
  check(a.dropout >= 0.0 && a.dropout < 1.0 && (a.dropout == 0.0 || a.seed),
        "{}: dropout is {}, needs a seed and less "
        "than 1",
        kName, a.dropout);
  check(!a.seed || (a.seed->numel() == 1 && a.seed->is_cpu() && a.seed->scalar_type() == ScalarType::Long),
        "{}: seed needs to be one number on the CPU", kName);
  const std::size_t num_columns = a.columns.size();
  check(a.domains.size() == num_columns && a.firsts.size() == num_columns && a.needs_gradient.size() == num_columns,
        "{}: the lists of columns have different lengths", kName);
  for (std::size_t i = 0; i < num_columns; ++i) check_column(a, i, relation, t.query);
  return relation;
}

/// `gradients` are empty, or one for each column, of size 0 for a column that needs none.
template <typename T>
kernels::ScoreInputs<T> score_inputs(const ScoreArguments& a, const kernels::ScoreProgram& program,
                                     const std::vector<Tensor>& gradients) {
  kernels::ScoreInputs<T> inputs = {.program = &program, .columns = {}};
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    const Tensor& column = a.columns[i];
    const auto domain = static_cast<ScoreDomain>(a.domains[i]);
    T* grad = gradients.empty() || a.needs_gradient[i] == 0 ? nullptr : data_of<T>(gradients[i]);
    const bool is_of_edges = domain == ScoreDomain::kEdges;
    const std::int64_t heads = column.size(is_of_edges ? 1 : 0);
    inputs.columns.push_back({
        .domain = domain,
        .data = data_of<T>(column) + (is_of_edges ? 0 : kernels::kScorePadding),
        .size = is_of_edges ? column.size(0) : column.size(1) - 2 * kernels::kScorePadding,
        .stride = is_of_edges ? heads : 1,
        .head_stride = heads == 1    ? 0
                       : is_of_edges ? 1
                                     : column.size(1),
        .first = a.firsts[i],
        .grad = grad,
    });
  }
  return inputs;
}

template <typename T>
kernels::AttentionForward<T> kernel_arguments(const AttentionTensors& t, const ScoreArguments& a,
                                              const kernels::ScoreInputs<AccumulatorType<T>>& score, const Tensor& out,
                                              const Tensor& log_normalizer) {
  kernels::AttentionForward<T> p = {};
  p.query = data_of<T>(t.query);
  p.key = data_of<T>(t.key);
  p.value = data_of<T>(t.value);
  p.out = data_of<T>(out);
  p.log_normalizer = data_of<AccumulatorType<T>>(log_normalizer);
  p.num_heads = t.query.size(1);
  p.head_size = t.query.size(2);
  p.value_size = t.value.size(2);
  p.scale = static_cast<AccumulatorType<T>>(a.scale);
  p.clamp = std::numeric_limits<AccumulatorType<T>>::infinity();
  p.dropout = {a.dropout, a.seed ? static_cast<std::uint64_t>(*data_of<std::int64_t>(*a.seed)) : 0, 0};
  p.score = &score;
  return p;
}

}  // namespace

std::tuple<Tensor, Tensor> attend_score(const Tensor& query, const Tensor& key, const Tensor& value,
                                        std::vector<Tensor> columns, const Tensor& row_begin, const Tensor& sources,
                                        const Tensor& handle, const std::optional<Tensor>& seed,
                                        std::vector<std::int64_t> nodes, std::vector<double> constants,
                                        std::vector<std::int64_t> domains, std::vector<std::int64_t> firsts,
                                        std::vector<std::int64_t> needs_gradient, double scale, double dropout) {
  const AttentionTensors t = {as_contiguous(query), as_contiguous(key), as_contiguous(value)};
  const ScoreArguments a = {columns, nodes, constants, domains, firsts, needs_gradient, seed, scale, dropout};
  const Relation relation = find_relation_of(t, a, {row_begin, sources, handle});
  const kernels::ScoreProgram program = compile(a);
  const Tensor out = allocate({query.size(0), query.size(1), value.size(2)}, query.scalar_type());
  const Tensor log_normalizer = allocate({query.size(0), query.size(1)}, accumulator_type(query));
  with_floating_point(kName, query, [&](auto zero) {
    using T = decltype(zero);
    const auto score = score_inputs<AccumulatorType<T>>(a, program, {});
    kernels::attention_forward(kernel_arguments<T>(t, a, score, out, log_normalizer),
                               relation.derive<kernels::AttentionPlan>());
  });
  return {out, log_normalizer};
}

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> attend_score_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
    const Tensor& log_normalizer, std::vector<Tensor> columns, const Tensor& row_begin, const Tensor& sources,
    const Tensor& handle, const std::optional<Tensor>& seed, std::vector<std::int64_t> nodes,
    std::vector<double> constants, std::vector<std::int64_t> domains, std::vector<std::int64_t> firsts,
    std::vector<std::int64_t> needs_gradient, double scale, double dropout) {
  const AttentionTensors t = {as_contiguous(query), as_contiguous(key), as_contiguous(value)};
  const ScoreArguments a = {columns, nodes, constants, domains, firsts, needs_gradient, seed, scale, dropout};
  const Relation relation = find_relation_of(t, a, {row_begin, sources, handle});
  const Tensor grad = as_contiguous(grad_out);
  const Tensor result = as_contiguous(out);
  const Tensor normalizer = as_contiguous(log_normalizer);
  check_shape(kName, "the gradient", grad, {query.size(0), query.size(1), value.size(2)});
  check_shape(kName, "out", result, {query.size(0), query.size(1), value.size(2)});
  check_shape(kName, "log_normalizer", normalizer, {query.size(0), query.size(1)});
  check_type(kName, "the gradient", grad, query.scalar_type());
  check_type(kName, "out", result, query.scalar_type());
  check_type(kName, "log_normalizer", normalizer, accumulator_type(query));
  const kernels::ScoreProgram program = compile(a);

  const Tensor grad_query = allocate_like(t.query);
  const Tensor grad_key = allocate_like(t.key);
  const Tensor grad_value = allocate_like(t.value);
  std::vector<Tensor> grad_columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool is_of_edges = domains[i] == static_cast<std::int64_t>(ScoreDomain::kEdges);
    const std::int64_t size = is_of_edges ? columns[i].size(1) : columns[i].size(1) - 2 * kernels::kScorePadding;
    grad_columns.push_back(needs_gradient[i] == 0 ? allocate({0}, accumulator_type(query))
                                                  : allocate({columns[i].size(0), size}, accumulator_type(query)));
  }
  with_floating_point(kName, query, [&](auto zero) {
    using T = decltype(zero);
    const auto score = score_inputs<AccumulatorType<T>>(a, program, grad_columns);
    kernels::AttentionBackward<T> p = {};
    p.forward = kernel_arguments<T>(t, a, score, result, normalizer);
    p.grad_out = data_of<T>(grad);
    p.grad_query = data_of<T>(grad_query);
    p.grad_key = data_of<T>(grad_key);
    p.grad_value = data_of<T>(grad_value);
    kernels::attention_backward(p, relation.derive<kernels::AttentionPlan>());
  });
  return {grad_query, grad_key, grad_value, grad_columns};
}

}  // namespace edgewise::torch_operations
