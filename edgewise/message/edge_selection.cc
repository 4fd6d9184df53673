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

EdgeSelection::EdgeSelection(const Graph& graph, Rows rows) : rows_(std::move(rows)), num_nodes_(graph.num_nodes()) {
  const EdgeList ends = ends_of(graph, rows_);
  sources_ = to_tensor(ends.sources);
  destinations_ = to_tensor(ends.destinations);
  if (rows_.are_all() && graph.sets().size() == 1 && graph.relations().size() == 1) {
    whole_ = graph.relations().front().relation;
  }
}

EdgeSelection::EdgeSelection(const EdgeSelection& from, const Mailboxes& mailboxes)
    : rows_(from.rows_), sources_(from.sources_), destinations_(from.destinations_), num_nodes_(from.num_nodes_) {
  const Order& from_order = from.order();
  Order order = {from_order.relation, mailboxes.place_of_edge(), from_order.numbers};
  if (order.places.defined() || from_order.places.defined()) {
    // For each place in the mailboxes, the place in `from`.
    const at::Tensor edges = mailboxes.edges();
    const at::Tensor place = from_order.places.defined() ? from_order.places.index_select(0, edges) : edges;
    rows_ = Rows::some(from.rows_.numbers().index_select(0, place));
    sources_ = from.sources_.index_select(0, place);
    destinations_ = from.destinations_.index_select(0, place);
  }
  std::call_once(order_once_, [&] { order_ = std::move(order); });
  std::call_once(mailboxes_once_, [&] { mailboxes_ = mailboxes; });
}

EdgeSelection::Order EdgeSelection::sort_edges() const {
  if (whole_) return {*whole_, {}, {}};
  RelationWithOrder sorted =
      Relation::from_edges_with_order(num_nodes_, num_nodes_, {to_nodes(sources_), to_nodes(destinations_)});
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
  at::Tensor degrees = at::empty({num_nodes_}, at::kLong);
  auto* to = degrees.data_ptr<std::int64_t>();
  for (std::int64_t node = 0; node < num_nodes_; ++node) to[node] = row_begin[node + 1] - row_begin[node];
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
