// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/score/distance_range.h"
#include "edgewise/kernels/score/score_inputs.h"
#include "operations.h"
#include "relations.h"
#include "saved_weights.h"

namespace edgewise::torch_operations {
namespace {

using kernels::AccumulatorType;
using kernels::AttentionForward;
using kernels::AttentionPlan;
using kernels::ScoreDomain;

constexpr auto kName = "attend";

/// A score function as numbers (score_program.h), and the numbers of its call.
struct ScoreCode {
  const std::vector<std::int64_t>& nodes;  // none: no function
  const std::vector<double>& constants;
  const std::vector<std::int64_t>& domains;  // one for each column: a ScoreDomain
  const std::vector<std::int64_t>& firsts;   // one for each column: ScoreColumn::first
  const std::vector<std::int64_t>& needed;   // one for each column: whether it has a gradient
  const std::optional<Tensor>& seed;
  double scale;
  double dropout;
};

/// The tensors of a call. Contiguous.
struct ScoreTensors {
  Tensor query, key;
  std::optional<Tensor> value, edge_key, edge_value;  // attention weights have no values
  std::vector<Tensor> columns;
};

/// Returns the relation, and checks the tensors besides the columns against it.
Relation find_relation_of(const ScoreTensors& t, const RelationTensors& tensors) {
  check(t.key.dim() == 3, "{}: key has {} dimensions, needs 3", kName, t.key.dim());
  Relation relation = find_relation(kName, tensors, t.key.size(0));
  check(t.query.dim() == 3, "{}: query has {} dimensions, needs 3", kName, t.query.dim());
  const std::int64_t num_heads = t.query.size(1);
  const std::int64_t head_size = t.query.size(2);
  const auto check_rows = [&](std::string_view name, const Tensor& rows, std::int64_t num_rows, std::int64_t size) {
    check_shape(kName, name, rows, {num_rows, num_heads, size});
    check_type(kName, name, rows, t.query.scalar_type());
  };
  check_rows("query", t.query, relation.num_destinations(), head_size);
  check_rows("key", t.key, relation.num_sources(), head_size);
  if (t.edge_key) check_rows("edge_key", *t.edge_key, relation.num_edges(), head_size);
  check(t.value || !t.edge_value, "{}: edge_value is given without value", kName);
  if (!t.value) return relation;
  check(t.value->dim() == 3, "{}: value has {} dimensions, needs 3", kName, t.value->dim());
  check_rows("value", *t.value, relation.num_sources(), t.value->size(2));
  if (t.edge_value) check_rows("edge_value", *t.edge_value, relation.num_edges(), t.value->size(2));
  return relation;
}

/// Returns how many numbers a head has in a column.
std::int64_t size_of(const Tensor& column, ScoreDomain domain) {
  return domain == ScoreDomain::kEdges ? column.size(0) : column.size(1) - 2 * kernels::kScorePadding;
}

/// Checks that the kernels can read a column wherever the relation has an edge.
void check_column(const Tensor& column, ScoreDomain domain, std::int64_t first, const Relation& relation,
                  std::int64_t num_heads) {
  check(column.is_cpu() && column.dim() == 2, "{}: a column of the score needs two dimensions on the CPU", kName);
  const std::int64_t heads = column.size(domain == ScoreDomain::kEdges ? 1 : 0);
  check(heads == 1 || heads == num_heads, "{}: a column of the score has {} heads, needs 1 or {}", kName, heads,
        num_heads);
  const std::int64_t size = size_of(column, domain);
  auto check_size = [&](std::int64_t needed) {
    check(size == needed, "{}: a column of the score has {} numbers, needs {}", kName, size, needed);
  };
  switch (domain) {
    case ScoreDomain::kEdges:
      return check_size(relation.num_edges());
    case ScoreDomain::kSources:
      return check_size(relation.num_sources());
    case ScoreDomain::kDestinations:
      return check_size(relation.num_destinations());
    case ScoreDomain::kDistances: {
      const auto& range = relation.derive<kernels::DistanceRange>();
      check(range.size() == 0 || (first <= range.first && range.last < first + size),
            "{}: a column of the score has distances {} to {}, needs {} to {}", kName, first, first + size - 1,
            range.first, range.last);
      return;
    }
    case ScoreDomain::kTable:
      check(size > 0, "{}: a table of the score has no numbers, needs at least one", kName);
      return;
  }
  fail("{}: a column of the score has domain {}, needs 0 to 4", kName, static_cast<int>(domain));
}

/// A compiled score function and its columns.
struct BoundScore {
  kernels::ScoreProgram program;
  std::vector<ScoreDomain> domains;
  std::vector<std::int64_t> firsts;
  std::vector<bool> needs_gradient;
};

BoundScore bind_score(const ScoreTensors& t, const Relation& relation, const ScoreCode& code) {
  const std::size_t count = t.columns.size();
  check(code.domains.size() == count && code.firsts.size() == count && code.needed.size() == count,
        "{}: the score has {} columns, needs as many domains, first distances and marks", kName, count);
  check(!code.nodes.empty() || count == 0, "{}: there are columns without a score function", kName);
  BoundScore score;
  for (std::size_t i = 0; i < count; ++i) {
    check(code.domains[i] >= 0 && code.domains[i] <= static_cast<std::int64_t>(ScoreDomain::kTable),
          "{}: a column of the score has domain {}, needs 0 to 4", kName, code.domains[i]);
    const auto domain = static_cast<ScoreDomain>(code.domains[i]);
    check_column(t.columns[i], domain, code.firsts[i], relation, t.query.size(1));
    check_type(kName, "a column of the score", t.columns[i], accumulator_type(t.query));
    const bool is_whole = domain == ScoreDomain::kEdges || t.columns[i].size(0) == t.query.size(1);
    check(code.needed[i] == 0 || is_whole, "{}: a column of the score with a gradient needs all heads", kName);
    score.domains.push_back(domain);
    score.firsts.push_back(code.firsts[i]);
    score.needs_gradient.push_back(code.needed[i] != 0);
  }
  if (!code.nodes.empty()) {
    score.program = kernels::compile_score_code(kName, code.nodes, code.constants, score.needs_gradient);
  }
  return score;
}

/// Returns the argument of kernels; `gradients` may be empty.
template <typename T>
kernels::ScoreInputs<T> score_inputs(const BoundScore& score, const std::vector<Tensor>& columns,
                                     const std::vector<Tensor>& gradients) {
  kernels::ScoreInputs<T> inputs = {.program = &score.program, .columns = {}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Tensor& column = columns[i];
    const ScoreDomain domain = score.domains[i];
    const bool is_edges = domain == ScoreDomain::kEdges;
    const std::int64_t heads = column.size(is_edges ? 1 : 0);
    T* grad = !gradients.empty() && score.needs_gradient[i] ? data_of<T>(gradients[i]) : nullptr;
    inputs.columns.push_back({.domain = domain,
                              .data = data_of<T>(column) + (is_edges ? 0 : kernels::kScorePadding),
                              .size = size_of(column, domain),
                              .stride = is_edges ? heads : 1,
                              .head_stride = heads == 1 ? 0
                                             : is_edges ? 1
                                                        : column.size(1),
                              .first = score.firsts[i],
                              .grad = grad});
  }
  return inputs;
}

/// Returns the arguments without results.
template <typename T>
AttentionForward<T> kernel_arguments(const ScoreTensors& t, const ScoreCode& code,
                                     const kernels::ScoreInputs<AccumulatorType<T>>& score) {
  using Accumulator = AccumulatorType<T>;
  AttentionForward<T> p = {};
  p.query = data_of<T>(t.query);
  p.key = data_of<T>(t.key);
  p.value = data_or_null<T>(t.value);
  p.num_heads = t.query.size(1);
  p.head_size = t.query.size(2);
  p.value_size = t.value ? t.value->size(2) : 0;
  p.scale = static_cast<Accumulator>(code.scale);
  p.clamp = std::numeric_limits<Accumulator>::infinity();
  p.dropout = {code.dropout, code.seed ? static_cast<std::uint64_t>(*data_of<std::int64_t>(*code.seed)) : 0, 0};
  p.score = code.nodes.empty() ? nullptr : &score;
  p.edge_key = data_or_null<T>(t.edge_key);
  p.edge_value = data_or_null<T>(t.edge_value);
  return p;
}

void check_dropout(const ScoreCode& code) {
  check(code.dropout >= 0.0 && code.dropout < 1.0, "{}: dropout is {}, needs at least 0 and less than 1", kName,
        code.dropout);
  check(code.dropout == 0.0 || code.seed, "{}: dropout needs a seed", kName);
  if (!code.seed) return;
  check_type(kName, "seed", *code.seed, ScalarType::Long);
  check(code.seed->numel() == 1 && code.seed->is_cpu(), "{}: seed needs to be one number on the CPU", kName);
}

ScoreTensors contiguous_tensors(const Tensor& query, const Tensor& key, const std::optional<Tensor>& value,
                                const std::optional<Tensor>& edge_key, const std::optional<Tensor>& edge_value,
                                const std::vector<Tensor>& columns) {
  ScoreTensors t = {as_contiguous(query),    as_contiguous(key),        as_contiguous(value),
                    as_contiguous(edge_key), as_contiguous(edge_value), {}};
  for (const Tensor& column : columns) t.columns.push_back(as_contiguous(column));
  return t;
}

/// Allocates the gradient of a tensor, of size 0 unless it is needed.
Tensor allocate_gradient(const Tensor& query, const std::optional<Tensor>& tensor, bool is_needed) {
  return tensor && is_needed ? allocate_like(*tensor) : allocate({0}, query.scalar_type());
}

/// Returns the memory of a gradient, or null if none is needed.
template <typename T>
T* data_if(const Tensor& gradient, bool is_needed) {
  return is_needed ? data_of<T>(gradient) : nullptr;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> attend_score(
    const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& edge_key,
    const std::optional<Tensor>& edge_value, const std::vector<Tensor>& columns, const Tensor& row_begin,
    const Tensor& sources, const Tensor& handle, const std::optional<Tensor>& seed,
    const std::vector<std::int64_t>& nodes, const std::vector<double>& constants,
    const std::vector<std::int64_t>& domains, const std::vector<std::int64_t>& firsts,
    const std::vector<std::int64_t>& needed, double scale, double dropout, std::int64_t num_saved) {
  const ScoreCode code = {nodes, constants, domains, firsts, needed, seed, scale, dropout};
  const ScoreTensors t = contiguous_tensors(query, key, value, edge_key, edge_value, columns);
  const Relation relation = find_relation_of(t, {row_begin, sources, handle});
  check_dropout(code);
  const BoundScore score = bind_score(t, relation, code);
  const Tensor out = allocate({query.size(0), query.size(1), value.size(2)}, query.scalar_type());
  const Tensor log_normalizer = allocate({query.size(0), query.size(1)}, accumulator_type(query));
  const Tensor saved = allocate({num_saved * query.size(1)}, accumulator_type(query));
  const auto& plan = relation.derive<AttentionPlan>();
  with_floating_point(kName, query, [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = score_inputs<AccumulatorType<T>>(score, t.columns, {});
    AttentionForward<T> p = kernel_arguments<T>(t, code, inputs);
    p.out = data_of<T>(out);
    p.log_normalizer = data_of<AccumulatorType<T>>(log_normalizer);
    p.saved_weights = saved_weights_or_null<T>(saved, plan, query.size(1));
    kernels::attention_forward(p, plan);
  });
  return {out, log_normalizer, saved};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, std::vector<Tensor>> attend_score_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
    const std::optional<Tensor>& edge_key, const std::optional<Tensor>& edge_value, const Tensor& out,
    const Tensor& log_normalizer, const Tensor& saved_weights, const std::vector<Tensor>& columns,
    const Tensor& row_begin, const Tensor& sources, const Tensor& handle, const std::optional<Tensor>& seed,
    const std::vector<std::int64_t>& nodes, const std::vector<double>& constants,
    const std::vector<std::int64_t>& domains, const std::vector<std::int64_t>& firsts,
    const std::vector<std::int64_t>& needed, double scale, double dropout, bool needs_edge_key_gradient,
    bool needs_edge_value_gradient) {
  const ScoreCode code = {nodes, constants, domains, firsts, needed, seed, scale, dropout};
  const ScoreTensors t = contiguous_tensors(query, key, value, edge_key, edge_value, columns);
  const Relation relation = find_relation_of(t, {row_begin, sources, handle});
  check_dropout(code);
  const Tensor grad = as_contiguous(grad_out);
  const Tensor out_contiguous = as_contiguous(out);
  const Tensor normalizer = as_contiguous(log_normalizer);
  check_shape(kName, "the gradient", grad, {query.size(0), query.size(1), value.size(2)});
  check_shape(kName, "out", out_contiguous, {query.size(0), query.size(1), value.size(2)});
  check_shape(kName, "log_normalizer", normalizer, {query.size(0), query.size(1)});
  check_type(kName, "the gradient", grad, query.scalar_type());
  check_type(kName, "out", out_contiguous, query.scalar_type());
  check_type(kName, "log_normalizer", normalizer, accumulator_type(query));
  check_type(kName, "saved_weights", saved_weights, accumulator_type(query));

  const BoundScore score = bind_score(t, relation, code);
  const Tensor grad_query = allocate_like(t.query);
  const Tensor grad_key = allocate_like(t.key);
  const Tensor grad_value = allocate_like(*t.value);
  const Tensor grad_edge_key = allocate_gradient(query, t.edge_key, needs_edge_key_gradient);
  const Tensor grad_edge_value = allocate_gradient(query, t.edge_value, needs_edge_value_gradient);
  std::vector<Tensor> grad_columns;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    const Tensor& column = t.columns[i];
    const bool is_edges = score.domains[i] == ScoreDomain::kEdges;
    const std::int64_t size = is_edges ? column.size(1) : size_of(column, score.domains[i]);
    const bool is_needed = score.needs_gradient[i];
    grad_columns.push_back(allocate({is_needed ? column.size(0) : 0, is_needed ? size : 0}, column.scalar_type()));
  }
  with_floating_point(kName, query, [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = score_inputs<AccumulatorType<T>>(score, t.columns, grad_columns);
    kernels::AttentionBackward<T> p = {};
    p.forward = kernel_arguments<T>(t, code, inputs);
    p.forward.out = data_of<T>(out_contiguous);
    p.forward.log_normalizer = data_of<AccumulatorType<T>>(normalizer);
    p.grad_out = data_of<T>(grad);
    p.grad_query = data_of<T>(grad_query);
    p.grad_key = data_of<T>(grad_key);
    p.grad_value = data_of<T>(grad_value);
    p.grad_edge_key = data_if<T>(grad_edge_key, needs_edge_key_gradient && t.edge_key);
    p.grad_edge_value = data_if<T>(grad_edge_value, needs_edge_value_gradient && t.edge_value);
    const auto& plan = relation.derive<AttentionPlan>();
    p.forward.saved_weights = saved_weights_or_null<T>(saved_weights, plan, query.size(1));
    kernels::attention_backward(p, plan);
  });
  return {grad_query, grad_key, grad_value, grad_edge_key, grad_edge_value, grad_columns};
}

Tensor attention_weights_score(const Tensor& query, const Tensor& key, const std::optional<Tensor>& edge_key,
                               const std::vector<Tensor>& columns, const Tensor& row_begin, const Tensor& sources,
                               const Tensor& handle, std::int64_t num_edges, const std::vector<std::int64_t>& nodes,
                               const std::vector<double>& constants, const std::vector<std::int64_t>& domains,
                               const std::vector<std::int64_t>& firsts, double scale) {
  const std::vector<std::int64_t> needed(columns.size(), 0);
  const std::optional<Tensor> none;
  const ScoreCode code = {nodes, constants, domains, firsts, needed, none, scale, 0.0};
  const ScoreTensors t = contiguous_tensors(query, key, none, edge_key, none, columns);
  const Relation relation = find_relation_of(t, {row_begin, sources, handle});
  check(num_edges == relation.num_edges(), "{}: num_edges is {}, needs {}", kName, num_edges, relation.num_edges());
  const BoundScore score = bind_score(t, relation, code);
  const Tensor weight = allocate({num_edges, query.size(1)}, accumulator_type(query));
  with_floating_point(kName, query, [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = score_inputs<AccumulatorType<T>>(score, t.columns, {});
    const kernels::AttentionWeights<T> p = {kernel_arguments<T>(t, code, inputs), data_of<AccumulatorType<T>>(weight)};
    kernels::attention_weights(p, relation.derive<AttentionPlan>());
  });
  return weight;
}

}  // namespace edgewise::torch_operations
