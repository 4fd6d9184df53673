// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/relation.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {

struct Relation::Storage {
  Form form = Form::kIntervals;
  std::int64_t num_sources = 0;
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<Interval> intervals = {};
  std::vector<NodeIndex> sources = {};
  // Values of derive(), at most one of each type.
  struct DerivedValues {
    std::mutex mutex;
    std::vector<std::pair<std::type_index, std::shared_ptr<const void>>> values;
  };
  std::unique_ptr<DerivedValues> derived = std::make_unique<DerivedValues>();
};

namespace {

void check_row_begin(std::span<const EdgeIndex> row_begin, EdgeIndex num_edges) {
  check(!row_begin.empty(), "from_csr: row_begin is empty, needs one number more than there are rows");
  check_node_count(std::ssize(row_begin) - 1, "from_csr: the number of rows");
  check(row_begin.front() == 0, "from_csr: row_begin[0] is {}, needs 0", row_begin.front());
  for (std::size_t i = 1; i < row_begin.size(); ++i) {
    check(row_begin[i] >= row_begin[i - 1], "from_csr: row_begin[{}] is {}, needs at least {}, the number before it", i,
          row_begin[i], row_begin[i - 1]);
  }
  check(row_begin.back() == num_edges, "from_csr: row_begin ends with {}, needs {}, the number of sources given",
        row_begin.back(), num_edges);
}

void check_edges(std::int64_t num_sources, std::int64_t num_destinations, const EdgeList& edges) {
  check_node_count(num_sources, "from_edges: num_sources");
  check_node_count(num_destinations, "from_edges: num_destinations");
  check(edges.sources.size() == edges.destinations.size(),
        "from_edges: edges has {} sources and {} destinations, needs as many of each", edges.sources.size(),
        edges.destinations.size());
  for (std::size_t i = 0; i < edges.sources.size(); ++i) {
    const NodeIndex source = edges.sources[i];
    const NodeIndex destination = edges.destinations[i];
    check(source >= 0 && source < num_sources, "from_edges: edges.sources[{}] is {}, needs a number in [0, {})", i,
          source, num_sources);
    check(destination >= 0 && destination < num_destinations,
          "from_edges: edges.destinations[{}] is {}, needs a number in [0, {})", i, destination, num_destinations);
  }
}

/// Calls place(index in the list, number of the edge in the relation) for each edge. Returns the first edge of each
/// row, and the number of edges.
template <class Place>
std::vector<EdgeIndex> sort_into_rows(std::int64_t num_destinations, const EdgeList& edges, Place place) {
  std::vector<EdgeIndex> row_begin(num_destinations + 1, 0);
  for (const NodeIndex destination : edges.destinations) ++row_begin[destination + 1];
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
  std::vector<EdgeIndex> next(row_begin.begin(), row_begin.end() - 1);
  for (std::size_t i = 0; i < edges.destinations.size(); ++i) place(i, next[edges.destinations[i]]++);
  return row_begin;
}

/// Returns whether `destination` has the same sources in `a` and in `b`. Its rows in `a` and `b` have equal sizes.
bool have_same_sources(const RelationView& a, const RelationView& b, std::int64_t destination) {
  const EdgeIndex begin = a.row_begin[destination];
  const EdgeIndex end = a.row_begin[destination + 1];
  if (a.intervals != nullptr && b.intervals != nullptr) {
    return begin == end || a.intervals[destination].begin == b.intervals[destination].begin;
  }
  for (EdgeIndex edge = begin; edge < end; ++edge) {
    if (a.source(destination, edge) != b.source(destination, edge)) return false;
  }
  return true;
}

}  // namespace

Relation::Relation(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}

Relation::Relation() {
  static const auto empty = std::make_shared<const Storage>();
  storage_ = empty;
}

Relation Relation::from_intervals(std::int64_t num_sources, std::vector<Interval> rows) {
  check_node_count(num_sources, "from_intervals: num_sources");
  check_node_count(std::ssize(rows), "from_intervals: the number of rows");

  Storage storage{.num_sources = num_sources};
  storage.row_begin.reserve(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [begin, end] = rows[i];
    check(0 <= begin && begin <= end && end <= num_sources,
          "from_intervals: rows[{}] is [{}, {}), needs 0 <= begin <= end <= {}, the number of sources", i, begin, end,
          num_sources);
    storage.row_begin.push_back(storage.row_begin.back() + (end - begin));
  }
  storage.intervals = std::move(rows);
  return Relation(std::make_shared<const Storage>(std::move(storage)));
}

Relation Relation::from_csr(std::int64_t num_sources, std::vector<EdgeIndex> row_begin,
                            std::vector<NodeIndex> sources) {
  check_node_count(num_sources, "from_csr: num_sources");
  check_row_begin(row_begin, std::ssize(sources));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    check(sources[i] >= 0 && sources[i] < num_sources, "from_csr: sources[{}] is {}, needs a number in [0, {})", i,
          sources[i], num_sources);
  }
  Storage storage{.form = Form::kCsr, .num_sources = num_sources};
  storage.row_begin = std::move(row_begin);
  storage.sources = std::move(sources);
  return Relation(std::make_shared<const Storage>(std::move(storage)));
}

Relation Relation::from_edges(std::int64_t num_sources, std::int64_t num_destinations, const EdgeList& edges) {
  check_edges(num_sources, num_destinations, edges);
  std::vector<NodeIndex> sources(edges.sources.size());
  std::vector<EdgeIndex> row_begin = sort_into_rows(
      num_destinations, edges, [&](std::size_t given, EdgeIndex edge) { sources[edge] = edges.sources[given]; });
  return from_csr(num_sources, std::move(row_begin), std::move(sources));
}

RelationWithOrder Relation::from_edges_with_order(std::int64_t num_sources, std::int64_t num_destinations,
                                                  const EdgeList& edges) {
  check_edges(num_sources, num_destinations, edges);
  std::vector<NodeIndex> sources(edges.sources.size());
  std::vector<EdgeIndex> order(edges.sources.size());
  std::vector<EdgeIndex> row_begin = sort_into_rows(num_destinations, edges, [&](std::size_t given, EdgeIndex edge) {
    sources[edge] = edges.sources[given];
    order[edge] = static_cast<EdgeIndex>(given);
  });
  return {from_csr(num_sources, std::move(row_begin), std::move(sources)), std::move(order)};
}

Relation::Form Relation::form() const { return storage_->form; }
std::int64_t Relation::num_sources() const { return storage_->num_sources; }
std::int64_t Relation::num_destinations() const { return std::ssize(storage_->row_begin) - 1; }
EdgeIndex Relation::num_edges() const { return storage_->row_begin.back(); }

EdgeIndex Relation::row_size(std::int64_t destination) const {
  check(destination >= 0 && destination < num_destinations(), "row_size: destination is {}, needs a number in [0, {})",
        destination, num_destinations());
  return storage_->row_begin[destination + 1] - storage_->row_begin[destination];
}

std::span<const EdgeIndex> Relation::row_begin() const { return storage_->row_begin; }

RelationView Relation::view() const {
  const bool has_intervals = form() == Form::kIntervals;
  return {.num_sources = num_sources(),
          .num_destinations = num_destinations(),
          .row_begin = storage_->row_begin.data(),
          .intervals = has_intervals ? storage_->intervals.data() : nullptr,
          .sources = has_intervals ? nullptr : storage_->sources.data()};
}

const void* Relation::find_or_make(std::type_index type, const Make& make) const {
  auto& [mutex, values] = *storage_->derived;
  const std::lock_guard lock(mutex);
  for (const auto& [known, value] : values) {
    if (known == type) return value.get();
  }
  return values.emplace_back(type, make()).second.get();
}

EdgeList Relation::edges() const {
  EdgeList list;
  list.sources.reserve(num_edges());
  list.destinations.reserve(num_edges());
  for_each_edge(view(), [&](NodeIndex source, NodeIndex destination, EdgeIndex /*edge*/) {
    list.sources.push_back(source);
    list.destinations.push_back(destination);
  });
  return list;
}

Relation Relation::to_csr() const {
  if (form() == Form::kCsr) return *this;
  return from_csr(num_sources(), storage_->row_begin, edges().sources);
}

Relation Relation::prefer_intervals() const {
  if (form() == Form::kIntervals) return *this;
  std::optional<std::vector<Interval>> rows = rows_as_intervals(view());
  return rows ? from_intervals(num_sources(), *std::move(rows)) : *this;
}

bool operator==(const Relation& a, const Relation& b) {
  if (a.storage_ == b.storage_) return true;
  if (a.num_sources() != b.num_sources() || !std::ranges::equal(a.row_begin(), b.row_begin())) return false;

  const RelationView a_rows = a.view();
  const RelationView b_rows = b.view();
  for (std::int64_t d = 0; d < a_rows.num_destinations; ++d) {
    if (!have_same_sources(a_rows, b_rows, d)) return false;
  }
  return true;
}

}  // namespace edgewise
