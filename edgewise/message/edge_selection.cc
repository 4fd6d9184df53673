// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/edge_selection.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <span>
#include <utility>

namespace edgewise {
namespace {

bool counts_up(const at::Tensor& numbers) {
  const auto* values = numbers.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    if (values[i] != i) return false;
  }
  return true;
}

EdgeList ends_of(const Graph& graph, const Rows& rows) {
  if (rows.are_all()) return graph.all_edges();
  const at::Tensor numbers = rows.numbers().contiguous();
  return graph.find_edges({numbers.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(numbers.numel())});
}

std::vector<NodeIndex> to_nodes(const at::Tensor& numbers) {
  const auto* values = numbers.const_data_ptr<std::int64_t>();
  std::vector<NodeIndex> nodes(static_cast<std::size_t>(numbers.numel()));
  std::transform(values, values + numbers.numel(), nodes.begin(),
                 [](std::int64_t node) { return static_cast<NodeIndex>(node); });
  return nodes;
}

}  // namespace

EdgeSelection::EdgeSelection(const Graph& graph, Rows rows) : graph_(graph), rows_(std::move(rows)) {}

EdgeSelection::EdgeSelection(const EdgeSelection& from, const Mailboxes& mailboxes)
    : graph_(from.graph_), rows_(from.rows_) {
  const Order& from_order = from.order();
  Order order = {from_order.relation, mailboxes.place_of_edge(), from_order.numbers};
  if (order.places.defined() || from_order.places.defined()) {
    // For each place in the mailboxes, the place in `from`.
    const at::Tensor edges = mailboxes.edges();
    const at::Tensor place = from_order.places.defined() ? from_order.places.index_select(0, edges) : edges;
    rows_ = Rows::some(from.rows_.numbers().index_select(0, place));
    std::call_once(ends_once_, [&] {
      ends_ = {from.sources().index_select(0, place), from.destinations().index_select(0, place)};
    });
  }
  std::call_once(order_once_, [&] { order_ = std::move(order); });
  std::call_once(mailboxes_once_, [&] { mailboxes_ = mailboxes; });
}

const EdgeSelection::Ends& EdgeSelection::ends() const {
  std::call_once(ends_once_, [this] {
    const EdgeList list = ends_of(graph_, rows_);
    ends_ = {to_tensor(list.sources), to_tensor(list.destinations)};
  });
  return ends_;
}

EdgeSelection::Order EdgeSelection::sort_edges() const {
  const bool is_one_relation = graph_.sets().size() == 1 && graph_.relations().size() == 1;
  if (rows_.are_all() && is_one_relation) return {graph_.relations().front().relation, {}, {}};
  const std::int64_t num_nodes = graph_.num_nodes();
  RelationWithOrder sorted =
      Relation::from_edges_with_order(num_nodes, num_nodes, {to_nodes(sources()), to_nodes(destinations())});
  Order order = {std::move(sorted.relation), to_tensor(sorted.order), rows_.numbers()};
  if (counts_up(order.places)) {
    order.places = at::Tensor();
  } else {
    order.numbers = order.numbers.index_select(0, order.places);
  }
  order.numbers = rows_.are_all() && !order.places.defined() ? at::Tensor() : order.numbers.contiguous();
  return order;
}

const EdgeSelection::Order& EdgeSelection::order() const {
  std::call_once(order_once_, [this] { order_ = sort_edges(); });
  return order_;
}

const Relation& EdgeSelection::relation() const { return order().relation; }
const at::Tensor& EdgeSelection::places() const { return order().places; }
const at::Tensor& EdgeSelection::numbers() const { return order().numbers; }

at::Tensor EdgeSelection::in_degrees() const {
  const std::span<const EdgeIndex> row_begin = relation().row_begin();
  const std::int64_t num_nodes = relation().num_destinations();
  at::Tensor degrees = at::empty({num_nodes}, at::kLong);
  auto* to = degrees.data_ptr<std::int64_t>();
  for (std::int64_t node = 0; node < num_nodes; ++node) to[node] = row_begin[node + 1] - row_begin[node];
  return degrees;
}

const Mailboxes& EdgeSelection::mailboxes() const {
  std::call_once(mailboxes_once_, [this] { mailboxes_.emplace(relation()); });
  return *mailboxes_;
}

const EdgeSelection& EdgeSelection::in_mailbox_order() const {
  std::call_once(in_mailbox_order_once_, [this] { in_mailbox_order_.reset(new EdgeSelection(*this, mailboxes())); });
  return *in_mailbox_order_;
}

}  // namespace edgewise
