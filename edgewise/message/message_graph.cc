// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/message_graph.h"

#include <ATen/ops/sort.h>

#include <utility>

#include "edgewise/message/calls.h"
#include "edgewise/message/rows.h"

namespace edgewise {
namespace {

void write(const Columns& columns, const Rows& rows, Frame& frame) {
  for (const auto& [name, values] : columns) rows.write(frame, name, values);
}

/// Returns a tensor [num_rows, …] with `values` in the rows `rows`, and zeros in the others.
at::Tensor spread(const at::Tensor& values, const at::Tensor& rows, std::int64_t num_rows) {
  std::vector<std::int64_t> shape = values.sizes().vec();
  shape[0] = num_rows;
  return values.new_zeros(shape).index_copy(0, rows, values);
}

}  // namespace

MessageGraph::MessageGraph(Graph graph)
    : graph_(std::move(graph)), ndata_(graph_.num_nodes(), "node"), edata_(graph_.num_edges(), "edge") {}

at::Tensor MessageGraph::nodes(std::string_view set) const { return to_tensor(graph_.nodes(set)); }

at::Tensor MessageGraph::edges(std::string_view relation) const { return to_tensor(graph_.edges(relation)); }

const MessageGraph::EdgeEnds& MessageGraph::edge_ends() const {
  if (!edge_ends_) {
    const EdgeList list = graph_.all_edges();
    edge_ends_ = EdgeEnds{to_tensor(list.sources), to_tensor(list.destinations)};
  }
  return *edge_ends_;
}

EdgeBatch MessageGraph::batch_of(const Rows& edges) const {
  return {ndata_, edata_, edges, edges.gather(edge_ends().sources), edges.gather(edge_ends().destinations)};
}

template <class Change>
void MessageGraph::change_or_restore(Change change) {
  Frame nodes_before = ndata_;
  Frame edges_before = edata_;
  try {
    change();
  } catch (...) {
    ndata_ = std::move(nodes_before);
    edata_ = std::move(edges_before);
    throw;
  }
}

void MessageGraph::apply_nodes(const NodeFunction& function, const std::optional<at::Tensor>& nodes) {
  const Rows rows = Rows::select(ndata_, nodes, "apply_nodes", "nodes");
  change_or_restore([&] { write(call(function, NodeBatch(ndata_, rows), "apply_nodes: the function"), rows, ndata_); });
}

void MessageGraph::apply_edges(const Message& function, const std::optional<at::Tensor>& edges) {
  const Rows rows = Rows::select(edata_, edges, "apply_edges", "edges");
  change_or_restore([&] { write(call(function, batch_of(rows), "apply_edges: the function"), rows, edata_); });
}

void MessageGraph::send_and_recv(const at::Tensor& edges, const std::vector<Message>& messages,
                                 const std::vector<Reduction>& reductions, const NodeFunction& node_function) {
  check_distinct_numbers(edata_, edges, "send_and_recv", "edges");
  const Rows rows = Rows::some(std::get<0>(at::sort(edges)));
  change_or_restore([&] {
    const Received received = reduce("send_and_recv", rows, messages, reductions);
    const bool are_all = received.nodes.size(0) == ndata_.num_rows();
    finish("send_and_recv", are_all ? Rows::all(ndata_.num_rows()) : Rows::some(received.nodes), received.columns,
           node_function);
  });
}

void MessageGraph::update_all(const std::vector<Message>& messages, const std::vector<Reduction>& reductions,
                              const NodeFunction& node_function) {
  const Rows rows = Rows::all(edata_.num_rows());
  change_or_restore([&] {
    Received received = reduce("update_all", rows, messages, reductions);
    if (received.nodes.size(0) != ndata_.num_rows()) {
      for (auto& [name, values] : received.columns) values = spread(values, received.nodes, ndata_.num_rows());
    }
    finish("update_all", Rows::all(ndata_.num_rows()), received.columns, node_function);
  });
}

MessageGraph::Received MessageGraph::reduce(std::string_view caller, const Rows& edges,
                                            const std::vector<Message>& messages,
                                            const std::vector<Reduction>& reductions) const {
  const EdgeBatch batch = batch_of(edges);
  const Columns sent = call_messages(messages, batch, caller);
  const Mailboxes mailboxes(batch.destinations(), ndata_.num_rows());
  return {mailboxes.nodes(), call_reductions(reductions, ndata_, sent, mailboxes, caller)};
}

void MessageGraph::finish(std::string_view caller, const Rows& nodes, const Columns& reduced,
                          const NodeFunction& node_function) {
  write(reduced, nodes, ndata_);
  if (!node_function) return;
  write(call(node_function, NodeBatch(ndata_, nodes), std::string(caller) + ": the node function"), nodes, ndata_);
}

at::Tensor MessageGraph::filter_nodes(const NodePredicate& predicate, const std::optional<at::Tensor>& nodes) const {
  const Rows rows = Rows::select(ndata_, nodes, "filter_nodes", "nodes");
  return rows.numbers().masked_select(call(predicate, NodeBatch(ndata_, rows), "filter_nodes: the predicate"));
}

at::Tensor MessageGraph::filter_edges(const EdgePredicate& predicate, const std::optional<at::Tensor>& edges) const {
  const Rows rows = Rows::select(edata_, edges, "filter_edges", "edges");
  return rows.numbers().masked_select(call(predicate, batch_of(rows), "filter_edges: the predicate"));
}

}  // namespace edgewise
