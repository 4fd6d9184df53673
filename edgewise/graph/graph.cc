// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/graph/node_count.h"
#include "edgewise/graph/numbering.h"
#include "edgewise/graph/relation_ops.h"

namespace edgewise {
namespace {

template <typename Named>
std::vector<std::string_view> names_of(const std::vector<Named>& things) {
  std::vector<std::string_view> names;
  names.reserve(things.size());
  for (const Named& thing : things) names.push_back(thing.name);
  return names;
}

/// Formats `what`, which says where the name comes from, only for an error.
template <typename Named, typename... Args>
std::int64_t find_name(const std::vector<Named>& things, std::string_view name, fmt::format_string<Args...> what,
                       Args&&... args) {
  const auto found = std::ranges::find(things, name, &Named::name);
  if (found == things.end()) {
    fail("{} is \"{}\", needs one of [{}]", fmt::format(what, std::forward<Args>(args)...), name,
         fmt::join(names_of(things), ", "));
  }
  return found - things.begin();
}

template <typename Named>
void check_names_differ(const std::vector<Named>& things, std::string_view what, std::string_view function) {
  for (std::size_t i = 0; i < things.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      check(things[i].name != things[j].name, "{}: {} \"{}\" is given twice, needs each name once", function, what,
            things[i].name);
    }
  }
}

std::string describe(const Graph& graph) {
  std::vector<std::string> relations;
  for (const auto& named : graph.relations()) {
    relations.push_back(fmt::format("{} from {} to {}", named.name, named.source_set, named.destination_set));
  }
  return fmt::format("sets [{}] and relations [{}]", fmt::join(names_of(graph.sets()), ", "),
                     fmt::join(relations, ", "));
}

void check_same_names(const Graph& part, std::size_t index, const Graph& first) {
  // Compares names instead of calling describe(), which costs much more and is needed only for the error.
  auto same_set = [](const auto& a, const auto& b) { return a.name == b.name; };
  auto same_relation = [](const auto& a, const auto& b) {
    return a.name == b.name && a.source_set == b.source_set && a.destination_set == b.destination_set;
  };
  if (!std::ranges::equal(part.sets(), first.sets(), same_set) ||
      !std::ranges::equal(part.relations(), first.relations(), same_relation)) {
    fail("batch: parts[{}] has {}, needs {} as parts[0] has", index, describe(part), describe(first));
  }
}

/// Finds the row of an edge among the rows of a part.
std::int64_t find_row(const RelationView& rows, const Numbering::Range& part_rows, EdgeIndex edge) {
  const EdgeIndex* begin = rows.row_begin + part_rows.begin_in_kind;
  return std::upper_bound(begin, begin + part_rows.count, edge) - rows.row_begin - 1;
}

template <typename Index>
void append_range(std::vector<Index>& numbers, const Numbering::Range& range) {
  const std::size_t size = numbers.size();
  numbers.resize(size + range.count);
  std::iota(numbers.begin() + size, numbers.end(), static_cast<Index>(range.begin));
}

template <typename Index>
std::vector<Index> numbers_of_kind(const Numbering& numbering, std::int64_t kind) {
  std::vector<Index> numbers;
  for (std::int64_t part = 0; part < numbering.num_parts(); ++part) append_range(numbers, numbering.range(part, kind));
  return numbers;
}

template <typename Index>
std::vector<Index> numbers_of_kind(const Numbering& numbering, std::int64_t kind, std::int64_t part,
                                   std::string_view function) {
  check(part >= 0 && part < numbering.num_parts(), "{}: part is {}, needs a number in [0, {})", function, part,
        numbering.num_parts());
  std::vector<Index> numbers;
  append_range(numbers, numbering.range(part, kind));
  return numbers;
}

}  // namespace

struct Graph::Storage {
  /// The sets of a relation, as indices in `sets`.
  struct Ends {
    std::int64_t source_set;
    std::int64_t destination_set;
  };

  /// Throws Error if a relation does not fit its sets; the error text begins with `function`.
  Storage(std::vector<NodeSet> sets_in, std::vector<NamedRelation> relations_in, Numbering nodes_in,
          std::string_view function);

  Ends find_ends(const NamedRelation& named, std::string_view function) const;

  /// Counts the edges of each part and relation. Each row belongs to one part, since no edge joins two parts.
  std::vector<std::int64_t> count_edges() const;

  std::shared_ptr<const Storage> with_relations(std::vector<NamedRelation> changed, std::string_view function) const {
    return std::make_shared<const Storage>(sets, std::move(changed), nodes, function);
  }

  /// Appends an edge's ends as global node numbers.
  void append_ends(std::int64_t part, std::int64_t relation, std::int64_t row, EdgeIndex local_edge,
                   EdgeList& list) const;

  void check_stays_in_parts(std::int64_t relation, std::string_view function) const;

  std::vector<NodeSet> sets;
  std::vector<NamedRelation> relations;
  std::vector<Ends> ends;
  Numbering nodes;  // kinds are sets
  Numbering edges;  // kinds are relations
};

Graph::Storage::Storage(std::vector<NodeSet> sets_in, std::vector<NamedRelation> relations_in, Numbering nodes_in,
                        std::string_view function)
    : sets(std::move(sets_in)), relations(std::move(relations_in)), nodes(std::move(nodes_in)) {
  for (const NamedRelation& named : relations) ends.push_back(find_ends(named, function));
  edges = Numbering(nodes.num_parts(), std::ssize(relations), count_edges());
}

Graph::Storage::Ends Graph::Storage::find_ends(const NamedRelation& named, std::string_view function) const {
  auto find_set = [&](std::string_view end, std::string_view name) {
    return find_name(sets, name, "{}: {} set of relation \"{}\"", function, end, named.name);
  };
  const Ends found = {.source_set = find_set("source", named.source_set),
                      .destination_set = find_set("destination", named.destination_set)};
  const std::int64_t num_sources = sets[found.source_set].size;
  const std::int64_t num_destinations = sets[found.destination_set].size;
  check(named.relation.num_sources() == num_sources && named.relation.num_destinations() == num_destinations,
        "{}: relation \"{}\" has {} sources and {} destinations, needs {} and {} as its sets \"{}\" and \"{}\" have",
        function, named.name, named.relation.num_sources(), named.relation.num_destinations(), num_sources,
        num_destinations, named.source_set, named.destination_set);
  return found;
}

std::vector<std::int64_t> Graph::Storage::count_edges() const {
  std::vector<std::int64_t> counts;
  counts.reserve(nodes.num_parts() * relations.size());
  for (std::int64_t part = 0; part < nodes.num_parts(); ++part) {
    for (std::size_t i = 0; i < relations.size(); ++i) {
      const auto row_begin = relations[i].relation.row_begin();
      const Numbering::Range rows = nodes.range(part, ends[i].destination_set);
      counts.push_back(row_begin[rows.begin_in_kind + rows.count] - row_begin[rows.begin_in_kind]);
    }
  }
  return counts;
}

void Graph::Storage::append_ends(std::int64_t part, std::int64_t relation, std::int64_t row, EdgeIndex local_edge,
                                 EdgeList& list) const {
  const Numbering::Range sources = nodes.range(part, ends[relation].source_set);
  const Numbering::Range destinations = nodes.range(part, ends[relation].destination_set);
  const std::int64_t source = relations[relation].relation.view().source(row, local_edge);
  list.sources.push_back(static_cast<NodeIndex>(sources.begin + source - sources.begin_in_kind));
  list.destinations.push_back(static_cast<NodeIndex>(destinations.begin + row - destinations.begin_in_kind));
}

void Graph::Storage::check_stays_in_parts(std::int64_t relation, std::string_view function) const {
  const RelationView view = relations[relation].relation.view();
  for (std::int64_t part = 0; part < nodes.num_parts(); ++part) {
    const auto [first, begin, count] = nodes.range(part, ends[relation].source_set);
    const Numbering::Range rows = nodes.range(part, ends[relation].destination_set);
    for (std::int64_t row = rows.begin_in_kind; row < rows.begin_in_kind + rows.count; ++row) {
      const EdgeIndex row_end = view.row_begin[row + 1];
      // An interval needs a check of its first and last source only.
      const EdgeIndex step = view.intervals == nullptr ? 1 : std::max<EdgeIndex>(1, row_end - 1 - view.row_begin[row]);
      for (EdgeIndex edge = view.row_begin[row]; edge < row_end; edge += step) {
        const std::int64_t source = view.source(row, edge);
        check(begin <= source && source < begin + count,
              "{}: edge {} of \"{}\" has source {}, needs one in [{}, {}), the sources in part {} of its destination",
              function, edge, relations[relation].name, source, begin, begin + count, part);
      }
    }
  }
}

Graph::Graph()
    : storage_(std::make_shared<const Storage>(std::vector<NodeSet>(), std::vector<NamedRelation>(), Numbering(),
                                               "Graph")) {}

Graph::Graph(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}

Graph::Graph(std::vector<NodeSet> sets, std::vector<NamedRelation> relations) {
  std::vector<std::int64_t> counts;
  counts.reserve(sets.size());
  for (const NodeSet& set : sets) counts.push_back(set.size);
  *this = make(std::move(sets), std::move(relations), /*num_parts=*/1, std::move(counts), "Graph");
}

Graph Graph::make(std::vector<NodeSet> sets, std::vector<NamedRelation> relations, std::int64_t num_parts,
                  std::vector<std::int64_t> counts, std::string_view function) {
  check_names_differ(sets, "set", function);
  check_names_differ(relations, "relation", function);
  for (const NodeSet& set : sets) check_node_count(set.size, "{}: size of set \"{}\"", function, set.name);
  Numbering nodes(num_parts, std::ssize(sets), std::move(counts));
  check_node_count(nodes.total(), "{}: the number of nodes of all sets", function);
  return Graph(std::make_shared<const Storage>(std::move(sets), std::move(relations), std::move(nodes), function));
}

Graph Graph::from_parts(std::vector<NodeSet> sets, std::vector<NamedRelation> relations,
                        std::vector<std::int64_t> part_sizes) {
  const std::int64_t num_sets = std::ssize(sets);
  const std::int64_t num_parts = num_sets == 0 ? 0 : std::ssize(part_sizes) / num_sets;
  check(num_parts * num_sets == std::ssize(part_sizes),
        "from_parts: part_sizes has {} numbers, needs one for each of {} sets in each part", part_sizes.size(),
        num_sets);
  for (std::int64_t set = 0; set < num_sets; ++set) {
    std::int64_t sum = 0;
    for (std::int64_t part = 0; part < num_parts; ++part) {
      const std::int64_t size = part_sizes[part * num_sets + set];
      check_node_count(size, "from_parts: size of set \"{}\" in part {}", sets[set].name, part);
      sum += size;
    }
    check(sets[set].size == sum, "from_parts: set \"{}\" has {} nodes, needs {}, the sum over its parts",
          sets[set].name, sets[set].size, sum);
  }
  Graph graph = make(std::move(sets), std::move(relations), num_parts, std::move(part_sizes), "from_parts");
  for (std::size_t i = 0; i < graph.relations().size(); ++i) graph.storage_->check_stays_in_parts(i, "from_parts");
  return graph;
}

Graph::Graph(Relation relation) {
  check(relation.num_sources() == relation.num_destinations(),
        "Graph: relation has {} sources and {} destinations, needs as many of each", relation.num_sources(),
        relation.num_destinations());
  const std::int64_t num_nodes = relation.num_sources();
  *this =
      Graph({{.name = "nodes", .size = num_nodes}},
            {{.name = "edges", .source_set = "nodes", .destination_set = "nodes", .relation = std::move(relation)}});
}

Graph Graph::batch(std::span<const Graph> parts) {
  if (parts.empty()) return Graph();

  std::vector<NodeSet> sets = parts[0].without_parts().sets();
  std::vector<std::int64_t> counts;
  std::int64_t num_parts = 0;
  std::int64_t num_nodes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check_same_names(parts[i], i, parts[0]);
    for (std::size_t set = 0; set < sets.size(); ++set) sets[set].size += parts[i].sets()[set].size;
    const Numbering& nodes = parts[i].storage_->nodes;
    counts.insert(counts.end(), nodes.counts().begin(), nodes.counts().end());
    num_parts += nodes.num_parts();
    num_nodes += nodes.total();
  }
  check_node_count(num_nodes, "batch: the number of nodes of all parts");

  std::vector<NamedRelation> relations = parts[0].relations();
  for (std::size_t i = 0; i < relations.size(); ++i) {
    std::vector<Relation> same_name;
    same_name.reserve(parts.size());
    for (const Graph& part : parts) same_name.push_back(part.relations()[i].relation);
    relations[i].relation = join(same_name);
  }
  Numbering nodes(num_parts, std::ssize(sets), std::move(counts));
  return Graph(std::make_shared<const Storage>(std::move(sets), std::move(relations), std::move(nodes), "batch"));
}

Graph Graph::without_parts() const {
  std::vector<NodeSet> no_nodes = sets();
  for (NodeSet& set : no_nodes) set.size = 0;
  std::vector<NamedRelation> no_edges = relations();
  for (NamedRelation& named : no_edges) named.relation = Relation();
  Numbering nodes(/*num_parts=*/0, std::ssize(no_nodes), {});
  return Graph(
      std::make_shared<const Storage>(std::move(no_nodes), std::move(no_edges), std::move(nodes), "without_parts"));
}

std::int64_t Graph::num_nodes() const { return storage_->nodes.total(); }
EdgeIndex Graph::num_edges() const { return storage_->edges.total(); }
std::int64_t Graph::num_parts() const { return storage_->nodes.num_parts(); }
const std::vector<Graph::NodeSet>& Graph::sets() const { return storage_->sets; }
const std::vector<Graph::NamedRelation>& Graph::relations() const { return storage_->relations; }

const Relation& Graph::relation(std::string_view name) const {
  return relations()[find_name(relations(), name, "relation: name")].relation;
}

std::int64_t Graph::set_size(std::string_view set) const {
  return sets()[find_name(sets(), set, "set_size: set")].size;
}

std::vector<NodeIndex> Graph::nodes(std::string_view set) const {
  return numbers_of_kind<NodeIndex>(storage_->nodes, find_name(sets(), set, "nodes: set"));
}

std::vector<NodeIndex> Graph::nodes(std::string_view set, std::int64_t part) const {
  return numbers_of_kind<NodeIndex>(storage_->nodes, find_name(sets(), set, "nodes: set"), part, "nodes");
}

std::vector<EdgeIndex> Graph::edges(std::string_view relation) const {
  return numbers_of_kind<EdgeIndex>(storage_->edges, find_name(relations(), relation, "edges: relation"));
}

std::vector<EdgeIndex> Graph::edges(std::string_view relation, std::int64_t part) const {
  return numbers_of_kind<EdgeIndex>(storage_->edges, find_name(relations(), relation, "edges: relation"), part,
                                    "edges");
}

EdgeList Graph::find_edges(std::span<const EdgeIndex> edges) const {
  EdgeList list;
  list.sources.reserve(edges.size());
  list.destinations.reserve(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    check(edges[i] >= 0 && edges[i] < num_edges(), "find_edges: edges[{}] is {}, needs a number in [0, {})", i,
          edges[i], num_edges());
    const Numbering::Location location = storage_->edges.find(edges[i]);
    const Numbering::Range rows = storage_->nodes.range(location.part, storage_->ends[location.kind].destination_set);
    const std::int64_t row = find_row(relations()[location.kind].relation.view(), rows, location.index_in_kind);
    storage_->append_ends(location.part, location.kind, row, location.index_in_kind, list);
  }
  return list;
}

EdgeList Graph::all_edges() const {
  EdgeList list;
  list.sources.reserve(num_edges());
  list.destinations.reserve(num_edges());
  for (std::int64_t part = 0; part < num_parts(); ++part) {
    for (std::size_t i = 0; i < relations().size(); ++i) {
      const auto row_begin = relations()[i].relation.row_begin();
      const Numbering::Range rows = storage_->nodes.range(part, storage_->ends[i].destination_set);
      for (std::int64_t row = rows.begin_in_kind; row < rows.begin_in_kind + rows.count; ++row) {
        for (EdgeIndex edge = row_begin[row]; edge < row_begin[row + 1]; ++edge) {
          storage_->append_ends(part, static_cast<std::int64_t>(i), row, edge, list);
        }
      }
    }
  }
  return list;
}

Graph Graph::with_relation(std::string_view name, Relation relation) const {
  const std::int64_t index = find_name(relations(), name, "with_relation: name");
  std::vector<NamedRelation> changed = relations();
  changed[index].relation = std::move(relation);
  auto storage = storage_->with_relations(std::move(changed), "with_relation");
  storage->check_stays_in_parts(index, "with_relation");
  return Graph(std::move(storage));
}

Graph Graph::edge_subgraph(std::span<const EdgeIndex> edges) const {
  std::vector<std::vector<EdgeIndex>> kept(relations().size());
  for (const EdgeIndex edge : sort_edges(edges, num_edges(), "edge_subgraph")) {
    const Numbering::Location location = storage_->edges.find(edge);
    kept[location.kind].push_back(location.index_in_kind);
  }
  std::vector<NamedRelation> changed = relations();
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i].relation = keep_edges(changed[i].relation, kept[i]);
  return Graph(storage_->with_relations(std::move(changed), "edge_subgraph"));
}

}  // namespace edgewise
