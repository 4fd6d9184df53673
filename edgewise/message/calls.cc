// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/calls.h"

#include <fmt/format.h>

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

/// Moves the columns of `more` into `all`. Throws Error for a name that `all` has already.
void merge(Columns& all, Columns&& more, std::string_view caller, std::string_view verb) {
  for (auto& [name, values] : more) {
    check(all.emplace(name, std::move(values)).second, "{}: '{}' is {} twice, needs each name once", caller, name,
          verb);
  }
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

Columns call_reduction(const NodeFunction& function, const Frame& node_frame, const Columns& sent,
                       const Mailboxes& mailboxes, std::string_view caller) {
  const std::string error_prefix = fmt::format("{}: a reduce function", caller);
  std::vector<Columns> results;
  for (const Mailboxes::Bucket& bucket : mailboxes.buckets()) {
    results.push_back(call(function, NodeBatch(node_frame, Rows::some(bucket.nodes), sent, bucket), error_prefix));
  }
  return join(results, mailboxes, error_prefix);
}

Columns call_reduction(const BuiltinReduction& reduction, const Columns& sent, const Mailboxes& mailboxes,
                       std::string_view caller) {
  const auto message = sent.find(reduction.message);
  check(message != sent.end(), "{}: the reduction to '{}' reads message '{}', but the messages sent are {}", caller,
        reduction.out, reduction.message, describe_names(sent));
  return {{reduction.out, compute(reduction, message->second, mailboxes)}};
}

}  // namespace

Columns call(const NodeFunction& function, const NodeBatch& nodes, std::string_view error_prefix) {
  Columns columns = call_checked(function, nodes, error_prefix);
  check_columns(columns, nodes.size(), "node", error_prefix);
  return columns;
}

Columns call(const Message& function, const EdgeBatch& edges, std::string_view error_prefix) {
  if (const auto* builtin = std::get_if<BuiltinMessage>(&function)) return {{builtin->out, compute(*builtin, edges)}};
  Columns columns = call_checked(std::get<EdgeFunction>(function), edges, error_prefix);
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

Columns call_messages(const std::vector<Message>& messages, const EdgeBatch& edges, std::string_view caller) {
  const std::string error_prefix = fmt::format("{}: a message function", caller);
  Columns sent;
  for (const Message& message : messages) merge(sent, call(message, edges, error_prefix), caller, "sent");
  return sent;
}

Columns call_reductions(const std::vector<Reduction>& reductions, const Frame& node_frame, const Columns& sent,
                        const Mailboxes& mailboxes, std::string_view caller) {
  Columns reduced;
  for (const Reduction& reduction : reductions) {
    const auto* builtin = std::get_if<BuiltinReduction>(&reduction);
    merge(reduced,
          builtin != nullptr ? call_reduction(*builtin, sent, mailboxes, caller)
                             : call_reduction(std::get<NodeFunction>(reduction), node_frame, sent, mailboxes, caller),
          caller, "written");
  }
  return reduced;
}

}  // namespace edgewise
