// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/calls.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"

namespace edgewise {
namespace {

template <typename Function, typename Batch>
auto call_checked(const Function& function, const Batch& batch, std::string_view error_prefix) {
  check(static_cast<bool>(function), "{} is empty, needs one that can be called", error_prefix);
  return function(batch);
}

/// Checks that each column has one row for each node or edge of the batch; `row_name` is "node" or "edge".
void check_columns(const Columns& columns, std::int64_t num_rows, std::string_view row_name,
                   std::string_view error_prefix) {
  for (const auto& [name, values] : columns) {
    check(values.defined() && values.dim() > 0 && values.size(0) == num_rows,
          "{} returned '{}' as {} for {} {}s, needs one row per {}", error_prefix, name, describe(values), num_rows,
          row_name, row_name);
  }
}

void check_mask(const at::Tensor& mask, std::int64_t num_rows, std::string_view error_prefix) {
  check(mask.defined() && mask.scalar_type() == at::kBool && mask.dim() == 1 && mask.size(0) == num_rows,
        "{} returned {}, needs Bool [{}]", error_prefix, describe(mask), num_rows);
}

/// Joins the results of a reduce function, one for each bucket, in the order of mailboxes.nodes().
Columns join(const std::vector<Columns>& results, const Mailboxes& mailboxes, std::string_view error_prefix) {
  const Columns& first = results.front();
  for (const Columns& result : results) {
    check(describe_names(result) == describe_names(first),
          "{} returned the columns {} for one in-degree and {} for another, needs the same", error_prefix,
          describe_names(first), describe_names(result));
  }
  Columns joined;
  for (const auto& [name, first_values] : first) {
    std::vector<at::Tensor> values;
    for (const Columns& result : results) {
      values.push_back(result.at(name));
      check(has_same_rows(first_values, values.back()),
            "{} returned '{}' as {} for one in-degree and {} for another, needs rows of one type and shape",
            error_prefix, name, describe(first_values), describe(values.back()));
    }
    joined[name] = mailboxes.join(values);
  }
  return joined;
}

/// Returns a tensor [num_rows, …] with `values` in the rows `rows`, and zeros in the others.
at::Tensor spread(const at::Tensor& values, const at::Tensor& rows, std::int64_t num_rows) {
  if (rows.size(0) == num_rows) return values;
  std::vector<std::int64_t> shape = values.sizes().vec();
  shape[0] = num_rows;
  return values.new_zeros(shape).index_copy(0, rows, values);
}

Columns call_reduction(const NodeFunction& function, const Frame& node_frame, const SentMessages& sent,
                       std::string_view caller) {
  const std::string error_prefix = fmt::format("{}: a reduce function", caller);
  const Mailboxes& mailboxes = sent.edges().mailboxes();
  std::vector<Columns> results;
  for (const Mailboxes::Bucket& bucket : mailboxes.buckets()) {
    results.push_back(call(function, NodeBatch(node_frame, Rows::some(bucket.nodes), sent, bucket), error_prefix));
  }
  Columns columns = join(results, mailboxes, error_prefix);
  for (auto& [name, values] : columns) values = spread(values, mailboxes.nodes(), node_frame.num_rows());
  return columns;
}

/// Returns how many messages each node received, at least 1, as a column for tensors of `dimensions` dimensions.
at::Tensor message_counts(const EdgeSelection& edges, std::int64_t dimensions) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(dimensions), 1);
  at::Tensor counts = edges.in_degrees().clamp_min_(1);
  shape[0] = counts.size(0);
  return counts.view(shape);
}

using ReductionKind = BuiltinReduction::Kind;

void check_kind(ReductionKind kind) {
  check(kind >= ReductionKind::kSum && kind <= ReductionKind::kMin,
        "BuiltinReduction: kind is {}, needs one of the four that there are", static_cast<int>(kind));
}

at::Tensor find_extremum(const BoundMessage& message, const std::string& name, ExtremumKind kind,
                         const SentMessages& sent) {
  const EdgeSelection& edges = sent.edges();
  if (message_shape("edge_extremum", message.message) == message.row_shape) {
    return edge_extremum(edges.relation(), message.message, kind);
  }
  // The extremum of dot products: their tensor has one number where the operands have a vector.
  return edge_extremum(edges.relation(), {MessageOperator::kCopy, {sent.tensor(name), RowsOf::kEdges, edges.places()}},
                       kind);
}

/// Reduces a message of a type that ops/edge_sum.h does not take, such as whole numbers.
at::Tensor reduce_plain(ReductionKind kind, const at::Tensor& message, const EdgeSelection& edges) {
  check(kind != ReductionKind::kMean || at::isFloatingType(message.scalar_type()),
        "mean: the message is {}, needs a floating type", describe(message));
  std::vector<std::int64_t> shape = message.sizes().vec();
  std::vector<std::int64_t> column(shape.size(), 1);
  column[0] = shape[0];
  shape[0] = edges.relation().num_destinations();
  const at::Tensor zeros = message.new_zeros(shape);
  if (kind == ReductionKind::kSum) return zeros.index_add(0, edges.destinations(), message);
  if (kind == ReductionKind::kMean) {
    return zeros.index_add(0, edges.destinations(), message).div(message_counts(edges, message.dim()));
  }
  return zeros.scatter_reduce(0, edges.destinations().view(column).expand_as(message), message,
                              kind == ReductionKind::kMax ? "amax" : "amin", /*include_self=*/false);
}

/// The sums of several messages, which are computed together.
class ColumnSums {
 public:
  /// Adds a sum, or a mean.
  void add(std::string out, const BoundMessage& message, bool is_mean) {
    sums_.push_back({message.message, RowsOf::kDestinations, message.row_shape, {}});
    outs_.push_back(std::move(out));
    are_means_.push_back(is_mean);
  }

  Columns compute(const EdgeSelection& edges) const {
    const std::vector<at::Tensor> results = edge_sums(edges.relation(), sums_);
    Columns columns;
    for (std::size_t i = 0; i < results.size(); ++i) {
      at::Tensor column = results[i];
      if (are_means_[i]) {
        const at::Tensor counts = message_counts(edges, column.dim());
        // Numbers of bf16 count messages only up to 256.
        column = column.scalar_type() == at::kBFloat16 ? column.div(counts.to(at::kFloat)).to(at::kBFloat16)
                                                       : column.div_(counts.to(column.scalar_type()));
      }
      columns[outs_[i]] = column;
    }
    return columns;
  }

 private:
  std::vector<EdgeSum> sums_;
  std::vector<std::string> outs_;
  std::vector<bool> are_means_;
};

}  // namespace

Columns call(const NodeFunction& function, const NodeBatch& nodes, std::string_view error_prefix) {
  Columns columns = call_checked(function, nodes, error_prefix);
  check_columns(columns, nodes.size(), "node", error_prefix);
  return columns;
}

Columns call(const EdgeFunction& function, const EdgeBatch& edges, std::string_view error_prefix) {
  Columns columns = call_checked(function, edges, error_prefix);
  check_columns(columns, edges.size(), "edge", error_prefix);
  return columns;
}

at::Tensor call(const NodePredicate& predicate, const NodeBatch& nodes, std::string_view error_prefix) {
  at::Tensor mask = call_checked(predicate, nodes, error_prefix);
  check_mask(mask, nodes.size(), error_prefix);
  return mask;
}

at::Tensor call(const EdgePredicate& predicate, const EdgeBatch& edges, std::string_view error_prefix) {
  at::Tensor mask = call_checked(predicate, edges, error_prefix);
  check_mask(mask, edges.size(), error_prefix);
  return mask;
}

bool need_mailboxes(const std::vector<Reduction>& reductions) {
  return std::ranges::any_of(
      reductions, [](const Reduction& reduction) { return std::holds_alternative<NodeFunction>(reduction); });
}

Columns call_reductions(const std::vector<Reduction>& reductions, const Frame& node_frame, const SentMessages& sent,
                        std::string_view caller) {
  Columns reduced;
  ColumnSums sums;
  const auto write = [&](const std::string& name, const at::Tensor& values) {
    check(reduced.emplace(name, values).second, "{}: '{}' is written twice, needs each name once", caller, name);
  };
  for (const Reduction& reduction : reductions) {
    const auto* builtin = std::get_if<BuiltinReduction>(&reduction);
    if (builtin == nullptr) {
      for (const auto& [name, values] : call_reduction(std::get<NodeFunction>(reduction), node_frame, sent, caller)) {
        write(name, values);
      }
      continue;
    }
    check(sent.has(builtin->message), "{}: the reduction to '{}' reads message '{}', but the messages sent are {}",
          caller, builtin->out, builtin->message, sent.names());
    check_kind(builtin->kind);
    const std::optional<BoundMessage> message = sent.bound(builtin->message);
    if (!message) {
      write(builtin->out, reduce_plain(builtin->kind, sent.tensor(builtin->message), sent.edges()));
    } else if (builtin->kind == ReductionKind::kSum || builtin->kind == ReductionKind::kMean) {
      write(builtin->out, {});
      sums.add(builtin->out, *message, builtin->kind == ReductionKind::kMean);
    } else {
      const ExtremumKind kind = builtin->kind == ReductionKind::kMax ? ExtremumKind::kMaximum : ExtremumKind::kMinimum;
      write(builtin->out, find_extremum(*message, builtin->message, kind, sent));
    }
  }
  for (auto& [name, values] : sums.compute(sent.edges())) reduced[name] = values;
  return reduced;
}

}  // namespace edgewise
