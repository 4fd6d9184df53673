// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/graph_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/files/json.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kMargin = 24;
constexpr double kTitleScale = 1.3;  // font size of a title relative to that of labels
constexpr double kTitleHeight = 26;
constexpr double kLineHeight = 18;  // height of a line of the legend
constexpr double kSetDistance = 150;
constexpr double kLabelHeight = 30;
constexpr double kMaxSpacing = 62;       // between neighbouring nodes
constexpr double kMinSpacing = 5;        // between neighbouring nodes
constexpr double kMinLabelSpacing = 24;  // nodes that are closer have no label
constexpr double kMaxWidth = 1800;
constexpr double kPartGap = 1.0;    // between two parts, in columns
constexpr double kFlatness = 0.36;  // height of an arc divided by its width

std::size_t num_parts(const NodeSetDrawing& set) { return std::max<std::size_t>(1, set.part_sizes.size()); }

std::int64_t part_size(const NodeSetDrawing& set, std::size_t part) {
  return set.part_sizes.empty() ? std::ssize(set.labels) : set.part_sizes[part];
}

/// The coordinates of the nodes.
class GraphLayout {
 public:
  explicit GraphLayout(const GraphDrawing& graph) : graph_(graph) {
    const double longest = assign_columns();
    spacing_ = std::clamp(kMaxWidth / std::max(1.0, longest), kMinSpacing, label_spacing());
    width_ = 2 * kMargin + spacing_ * longest;
    top_ = kTitleHeight + arc_height(true);
    height_ = top_ + arc_height(false) + kLabelHeight + (graph.sets.size() > 1 ? kSetDistance : 0);
  }

  double x(std::size_t set, std::int64_t node) const {
    return kMargin + spacing_ * (columns_[set][static_cast<std::size_t>(node)] + 0.5);
  }
  double y(std::size_t set) const { return top_ + (set == 0 ? 0 : kSetDistance); }
  double width() const { return width_; }
  double height() const { return height_; }
  double spacing() const { return spacing_; }
  double radius() const { return std::clamp(spacing_ / 6, 1.5, 7.0); }
  bool is_labelled() const { return spacing_ >= kMinLabelSpacing; }

  /// Returns whether the arc of an edge within a set is above the nodes. In a graph of one set, edges to earlier nodes
  /// are below the nodes; in a graph of two sets, edges within the second set are below.
  bool is_above(const RelationDrawing& relation, std::int64_t source, std::int64_t destination) const {
    if (graph_.sets.size() > 1) return relation.source_set == 0;
    return source <= destination;
  }

 private:
  /// Assigns a column to each node and returns the number of columns.
  double assign_columns() {
    columns_.resize(graph_.sets.size());
    std::size_t parts = 1;
    for (const NodeSetDrawing& set : graph_.sets) parts = std::max(parts, num_parts(set));
    double begin = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      std::int64_t longest = 0;
      for (std::size_t set = 0; set < graph_.sets.size(); ++set) {
        if (part >= num_parts(graph_.sets[set])) continue;
        const std::int64_t size = part_size(graph_.sets[set], part);
        for (std::int64_t i = 0; i < size; ++i) columns_[set].push_back(begin + static_cast<double>(i));
        longest = std::max(longest, size);
      }
      begin += static_cast<double>(longest) + kPartGap;
    }
    return begin - kPartGap;
  }

  double label_spacing() const {
    double widest = 34;
    for (const NodeSetDrawing& set : graph_.sets) {
      for (const std::string& label : set.labels) widest = std::max(widest, label_width(label) + 10);
    }
    return std::min(widest, kMaxSpacing);
  }

  double arc_height(bool above) const {
    double longest = 0;
    bool has_arcs = false;
    for (const RelationDrawing& relation : graph_.relations) {
      if (relation.source_set != relation.destination_set) continue;
      for (const IntervalRow& row : relation.rows) {
        for (const std::int64_t source : {row.begin, row.end - 1}) {
          if (is_above(relation, source, row.destination) != above) continue;
          has_arcs = true;
          longest = std::max(longest, std::abs(column(relation, source) - column(relation, row.destination)));
        }
      }
    }
    const double loop = has_arcs ? 26 : 8;
    return std::max(loop, longest * spacing_ * kFlatness + 12);
  }

  double column(const RelationDrawing& relation, std::int64_t node) const {
    return columns_[relation.source_set][static_cast<std::size_t>(node)];
  }

  const GraphDrawing& graph_;
  std::vector<std::vector<double>> columns_;
  double spacing_ = 0;
  double width_ = 0;
  double height_ = 0;
  double top_ = 0;
};

std::string make_edge_path(const GraphLayout& layout, const RelationDrawing& relation, std::int64_t source,
                           std::int64_t destination) {
  const double x1 = layout.x(relation.source_set, source);
  const double x2 = layout.x(relation.destination_set, destination);
  const double y1 = layout.y(relation.source_set);
  const double y2 = layout.y(relation.destination_set);
  if (relation.source_set != relation.destination_set)
    return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2);
  const double side = layout.is_above(relation, source, destination) ? -1 : 1;
  if (source == destination) {
    const double r = layout.radius() * 0.9;
    return fmt::format("M{:.1f} {:.1f}c{:.1f} {:.1f} {:.1f} {:.1f} 0 0", x1, y1, -3 * r, side * 4.5 * r, 3 * r,
                       side * 4.5 * r);
  }
  const double rx = std::abs(x2 - x1) / 2;
  const bool clockwise = (x2 > x1) == (side < 0);
  return fmt::format("M{:.1f} {:.1f}A{:.1f} {:.1f} 0 0 {} {:.1f} {:.1f}", x1, y1, rx, rx * 2 * kFlatness,
                     clockwise ? 1 : 0, x2, y2);
}

std::string draw_edges(const GraphDrawing& graph, const GraphLayout& layout, double opacity) {
  std::string svg;
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const RelationDrawing& relation = graph.relations[i];
    svg += fmt::format("<g class=\"edges s{}\" opacity=\"{:.2f}\">\n", i % kColours, opacity);
    std::string path;
    for (std::size_t r = 0; r < relation.rows.size(); ++r) {
      const IntervalRow& row = relation.rows[r];
      for (std::int64_t source = row.begin; source < row.end; ++source) {
        path += make_edge_path(layout, relation, source, row.destination);
      }
      const bool continues = r + 1 < relation.rows.size() && relation.rows[r + 1].destination == row.destination;
      if (continues || path.empty()) continue;
      svg += fmt::format("<path data-node=\"{}-{}\" d=\"{}\"/>\n", relation.destination_set, row.destination, path);
      path.clear();
    }
    svg += "</g>\n";
  }
  return svg;
}

/// Lists the sources of each node of each set as text: "a, c … f".
std::vector<std::vector<std::string>> list_sources(const GraphDrawing& graph) {
  std::vector<std::vector<std::string>> texts;
  for (const NodeSetDrawing& set : graph.sets) texts.emplace_back(set.labels.size());
  for (const RelationDrawing& relation : graph.relations) {
    const NodeSetDrawing& set = graph.sets[relation.source_set];
    for (const IntervalRow& row : relation.rows) {
      if (row.begin >= row.end) continue;
      std::string& list = texts[relation.destination_set][static_cast<std::size_t>(row.destination)];
      if (!list.empty()) list += ", ";
      if (graph.sets.size() > 1) list += set.name + " ";
      list += set.labels[static_cast<std::size_t>(row.begin)];
      if (row.end - row.begin > 1) list += " … " + set.labels[static_cast<std::size_t>(row.end - 1)];
    }
  }
  return texts;
}

std::string draw_nodes(const GraphDrawing& graph, const GraphLayout& layout) {
  const auto lists = list_sources(graph);
  std::string svg;
  for (std::size_t set = 0; set < graph.sets.size(); ++set) {
    const NodeSetDrawing& nodes = graph.sets[set];
    // In a graph of two sets, labels are between the sets, where there are no arcs.
    const bool has_label_above = graph.sets.size() > 1 && set == 1;
    for (std::size_t i = 0; i < nodes.labels.size(); ++i) {
      const double x = layout.x(set, static_cast<std::int64_t>(i));
      const double y = layout.y(set);
      const bool is_faint = i < nodes.faint.size() && nodes.faint[i];
      const std::string& sources = lists[set][i];
      const std::string text = nodes.labels[i] + (sources.empty() ? " sees nothing" : " sees " + sources);
      svg += fmt::format("<g class=\"node{}\" data-node=\"{}-{}\" role=\"img\" aria-label=\"{}\">",
                         is_faint ? " faint" : "", set, i, label_html(text));
      svg += fmt::format("<title>{}</title><circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>",
                         label_html(text), 5 + set, x, y, layout.radius());
      if (layout.is_labelled()) {
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x,
                           has_label_above ? y - 13 : y + 20,
                           escape_html(fit_label(nodes.labels[i], layout.spacing() - 4)));
      }
      svg += "</g>\n";
    }
  }
  return svg;
}

std::string draw_legend(const GraphDrawing& graph, bool is_numbered, double y) {
  std::string svg;
  std::int64_t first_edge = 0;
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const std::int64_t edges = graph.relations[i].num_edges();
    std::string text = graph.describe_edges(i);
    if (is_numbered && edges > 0) text += fmt::format(", {}–{}", first_edge, first_edge + edges - 1);
    svg += fmt::format("<rect class=\"f{}\" x=\"{}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>", i % kColours, kMargin,
                       y - 9);
    svg += svg_text(kMargin + 16, y, text) + "\n";
    first_edge += edges;
    y += kLineHeight;
  }
  return svg;
}

SvgPicture draw_nodes_and_edges(const GraphDrawing& graph, const GraphDrawing& whole) {
  const GraphLayout layout(whole);
  const double opacity = std::clamp(4.0 / std::sqrt(static_cast<double>(whole.num_edges())), 0.12, 0.8);
  // The edges of a relation have contiguous numbers, which the legend displays, except in a batch and in a subgraph.
  const bool is_numbered =
      graph.relations.size() > 1 && graph.sets[0].part_sizes.size() < 2 && graph.num_edges() == whole.num_edges();
  SvgPicture picture;
  picture.title = graph.title;
  picture.width = std::max(layout.width(), 2 * kMargin + label_width(graph.title) * kTitleScale);
  picture.height = layout.height() + kLineHeight * static_cast<double>(graph.relations.size()) + 12;
  picture.body = svg_text(kMargin, 16, graph.title, "class=\"title\"") + "\n" + draw_edges(graph, layout, opacity) +
                 draw_nodes(graph, layout) + draw_legend(graph, is_numbered, layout.height() + 12);
  return picture;
}

}  // namespace

std::int64_t RelationDrawing::num_edges() const {
  std::int64_t count = 0;
  for (const IntervalRow& row : rows) count += row.end - row.begin;
  return count;
}

std::int64_t GraphDrawing::num_nodes() const {
  std::int64_t count = 0;
  for (const NodeSetDrawing& set : sets) count += std::ssize(set.labels);
  return count;
}

std::int64_t GraphDrawing::num_edges() const {
  std::int64_t count = 0;
  for (const RelationDrawing& relation : relations) count += relation.num_edges();
  return count;
}

std::string GraphDrawing::describe_edges(std::size_t relation) const {
  const std::string name = relations.size() > 1 ? relations[relation].name + ": " : "";
  return fmt::format("{}{} edges", name, relations[relation].num_edges());
}

bool is_large(const GraphDrawing& graph) { return graph.num_nodes() >= 1000 || graph.num_edges() >= 10'000; }

SvgPicture draw_part(const GraphDrawing& part, const GraphDrawing& whole) {
  return is_large(whole) ? draw_adjacency(part) : draw_nodes_and_edges(part, whole);
}

SvgPicture draw(const GraphDrawing& graph) { return draw_part(graph, graph); }

std::string json_of(const GraphDrawing& graph) {
  const auto set_json = [](const NodeSetDrawing& set) {
    return JsonObject().add("name", set.name).add_json("nodes", json_array(set.labels, quote_json)).text();
  };
  const auto row_json = [](const IntervalRow& row) {
    return fmt::format("[{}, {}, {}]", row.destination, row.begin, row.end);
  };
  const auto relation_json = [&](const RelationDrawing& relation) {
    return JsonObject()
        .add("name", relation.name)
        .add("from", graph.sets[relation.source_set].name)
        .add("to", graph.sets[relation.destination_set].name)
        .add("edges", relation.num_edges())
        .add_json("rows", json_array(relation.rows, row_json))
        .text();
  };
  return JsonObject()
      .add("title", graph.title)
      .add_json("sets", json_array(graph.sets, set_json))
      .add_json("relations", json_array(graph.relations, relation_json))
      .text();
}

}  // namespace edgewise
