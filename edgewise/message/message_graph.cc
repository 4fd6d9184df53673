// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/message_graph.h"

#include <ATen/ops/sort.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "edgewise/message/builtins.h"
#include "edgewise/message/calls.h"
#include "edgewise/message/rows.h"
#include "edgewise/message/sent_messages.h"
#include "edgewise/ops/edge_softmax.h"

namespace edgewise {
namespace {

void write(const Columns& columns, const Rows& rows, Frame& frame) {
  for (const auto& [name, values] : columns) rows.write(frame, name, values);
}

bool ascends(const at::Tensor& numbers) {
  const at::Tensor contiguous = numbers.contiguous();
  const auto* begin = contiguous.const_data_ptr<std::int64_t>();
  return std::is_sorted(begin, begin + contiguous.numel());
}

/// Returns the version of a tensor's numbers, which changes with them.
std::uint32_t version_of(const at::Tensor& numbers) {
  return numbers.is_inference() ? 0 : static_cast<std::uint32_t>(numbers._version());
}

}  // namespace

MessageGraph::MessageGraph(Graph graph)
    : graph_(std::move(graph)), ndata_(graph_.num_nodes(), "node"), edata_(graph_.num_edges(), "edge") {}

at::Tensor MessageGraph::nodes(std::string_view set) const { return to_tensor(graph_.nodes(set)); }

at::Tensor MessageGraph::edges(std::string_view relation) const {
  if (const auto kept = relations_.find(relation); kept != relations_.end()) {
    if (version_of(kept->second.numbers) == kept->second.version) return kept->second.numbers;
    relations_.erase(kept);
  }
  at::Tensor numbers = to_tensor(graph_.edges(relation));
  const auto edges = std::make_shared<const EdgeSelection>(graph_, Rows::some(numbers.clone()));
  relations_.emplace(relation, KeptRelation{numbers, version_of(numbers), edges});
  return numbers;
}

const MessageGraph::Selection& MessageGraph::all_edges() const {
  if (all_edges_ == nullptr) {
    all_edges_ = std::make_shared<const EdgeSelection>(graph_, Rows::all(graph_.num_edges()));
  }
  return all_edges_;
}

MessageGraph::Selection MessageGraph::select(const std::optional<at::Tensor>& edges, std::string_view caller) const {
  if (!edges) return all_edges();
  for (const auto& [name, kept] : relations_) {
    if (edges->is_same(kept.numbers) && version_of(kept.numbers) == kept.version) return kept.edges;
  }
  return std::make_shared<const EdgeSelection>(graph_, Rows::select(edata_, *edges, caller, "edges"));
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
  const Selection selected = select(edges, "apply_edges");
  change_or_restore([&] {
    const EdgeBatch batch(ndata_, edata_, *selected);
    const auto* builtin = std::get_if<BuiltinMessage>(&function);
    if (builtin == nullptr) {
      write(call(std::get<EdgeFunction>(function), batch, "apply_edges: the function"), selected->rows(), edata_);
      return;
    }
    const std::optional<BoundMessage> bound = bind(*builtin, ndata_, edata_, *selected);
    selected->rows().write(edata_, builtin->out,
                           bound ? write_messages(*bound, *selected) : compute_plain(*builtin, batch));
  });
}

void MessageGraph::edge_softmax(std::string_view score, std::string_view out, const std::optional<at::Tensor>& edges) {
  const Selection selected = select(edges, "edge_softmax");
  change_or_restore([&] {
    const at::Tensor& column = edata_.get(score);
    const bool is_bf16 = column.scalar_type() == at::kBFloat16;
    at::Tensor weight = is_bf16 ? column.to(at::kFloat) : column;
    if (selected->numbers().defined()) weight = weight.index_select(0, selected->numbers());
    weight = edgewise::edge_softmax(selected->relation(), weight);
    if (selected->places().defined()) weight = at::zeros_like(weight).index_copy(0, selected->places(), weight);
    selected->rows().write(edata_, out, is_bf16 ? weight.to(at::kBFloat16) : weight);
  });
}

void MessageGraph::send_and_recv(const at::Tensor& edges, const std::vector<Message>& messages,
                                 const std::vector<Reduction>& reductions, const NodeFunction& node_function) {
  Selection selected = select(edges, "send_and_recv");
  if (!ascends(selected->rows().numbers())) selected = select(std::get<0>(at::sort(edges)), "send_and_recv");
  change_or_restore([&] {
    Columns columns = reduce("send_and_recv", *selected, messages, reductions);
    const at::Tensor& nodes = selected->mailboxes().nodes();
    if (nodes.size(0) == ndata_.num_rows()) {
      return finish("send_and_recv", Rows::all(ndata_.num_rows()), columns, node_function);
    }
    for (auto& [name, values] : columns) values = values.index_select(0, nodes);
    finish("send_and_recv", Rows::some(nodes), columns, node_function);
  });
}

void MessageGraph::update_all(const std::vector<Message>& messages, const std::vector<Reduction>& reductions,
                              const NodeFunction& node_function) {
  change_or_restore([&] {
    finish("update_all", Rows::all(ndata_.num_rows()), reduce("update_all", *all_edges(), messages, reductions),
           node_function);
  });
}

Columns MessageGraph::reduce(std::string_view caller, const EdgeSelection& edges, const std::vector<Message>& messages,
                             const std::vector<Reduction>& reductions) const {
  const EdgeSelection& ordered = need_mailboxes(reductions) ? edges.in_mailbox_order() : edges;
  const SentMessages sent(messages, ndata_, edata_, ordered, caller);
  return call_reductions(reductions, ndata_, sent, caller);
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
  const Selection selected = select(edges, "filter_edges");
  const EdgeBatch batch(ndata_, edata_, *selected);
  return selected->rows().numbers().masked_select(call(predicate, batch, "filter_edges: the predicate"));
}

}  // namespace edgewise
