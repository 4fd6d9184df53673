// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/graph_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "edgewise/base/json.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kMargin = 24;
constexpr double kTitleLetters = 1.3;  // how much larger a title's are
constexpr double kTitle = 26;
constexpr double kLine = 18;  // of the legend
constexpr double kBetweenSets = 150;
constexpr double kWidest = 62;    // from node to node
constexpr double kNarrowest = 5;  // likewise
constexpr double kLabelled = 24;  // nodes that stand closer have no label
constexpr double kMostWidth = 1800;
constexpr double kPartGap = 1.0;    // between two parts, in nodes
constexpr double kFlatness = 0.36;  // height of an arc, as a share of its width

std::size_t parts_of(const DrawnSet& set) { return std::max<std::size_t>(1, set.part_sizes.size()); }

std::int64_t part_size(const DrawnSet& set, std::size_t part) {
  return set.part_sizes.empty() ? std::ssize(set.labels) : set.part_sizes[part];
}

/// Where nodes stand.
class Layout {
 public:
  explicit Layout(const GraphDrawing& graph) : graph_(graph) {
    const double longest = place_columns();
    spacing_ = std::clamp(kMostWidth / std::max(1.0, longest), kNarrowest, widest_label());
    width_ = 2 * kMargin + spacing_ * longest;
    const double above = arc_height(true);
    const double below = arc_height(false);
    top_ = kTitle + above;
    height_ = top_ + below + kLabel + (graph.sets.size() > 1 ? kBetweenSets : 0);
  }

  double x(std::size_t set, std::int64_t node) const {
    return kMargin + spacing_ * (columns_[set][static_cast<std::size_t>(node)] + 0.5);
  }
  double y(std::size_t set) const { return top_ + (set == 0 ? 0 : kBetweenSets); }
  double width() const { return width_; }
  double height() const { return height_; }
  double spacing() const { return spacing_; }
  double radius() const { return std::clamp(spacing_ / 6, 1.5, 7.0); }
  bool is_labelled() const { return spacing_ >= kLabelled; }
  static constexpr double kLabel = 30;

  /// Of one set, messages to earlier nodes go below; of two, those within the lower set do.
  bool goes_above(const DrawnRelation& relation, std::int64_t source, std::int64_t destination) const {
    if (graph_.sets.size() > 1) return relation.source_set == 0;
    return source <= destination;
  }

 private:
  /// The columns that the longest parts take.
  double place_columns() {
    columns_.resize(graph_.sets.size());
    std::size_t parts = 1;
    for (const DrawnSet& set : graph_.sets) parts = std::max(parts, parts_of(set));
    double begin = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      std::int64_t longest = 0;
      for (std::size_t set = 0; set < graph_.sets.size(); ++set) {
        if (part >= parts_of(graph_.sets[set])) continue;
        const std::int64_t size = part_size(graph_.sets[set], part);
        for (std::int64_t i = 0; i < size; ++i) columns_[set].push_back(begin + static_cast<double>(i));
        longest = std::max(longest, size);
      }
      begin += static_cast<double>(longest) + kPartGap;
    }
    return begin - kPartGap;
  }

  double widest_label() const {
    double widest = 34;
    for (const DrawnSet& set : graph_.sets) {
      for (const std::string& label : set.labels) widest = std::max(widest, label_width(label) + 10);
    }
    return std::min(widest, kWidest);
  }

  double arc_height(bool above) const {
    double longest = 0;
    bool loops = false;
    for (const DrawnRelation& relation : graph_.relations) {
      if (relation.source_set != relation.destination_set) continue;
      for (const SeenSources& seen : relation.rows) {
        for (const std::int64_t source : {seen.begin, seen.end - 1}) {
          if (goes_above(relation, source, seen.destination) != above) continue;
          loops = true;
          longest = std::max(longest, std::abs(column(relation, source) - column(relation, seen.destination)));
        }
      }
    }
    const double loop = loops ? 26 : 8;
    return std::max(loop, longest * spacing_ * kFlatness + 12);
  }

  double column(const DrawnRelation& relation, std::int64_t node) const {
    return columns_[relation.source_set][static_cast<std::size_t>(node)];
  }

  const GraphDrawing& graph_;
  std::vector<std::vector<double>> columns_;
  double spacing_ = 0;
  double width_ = 0;
  double height_ = 0;
  double top_ = 0;
};

std::string edge_path(const Layout& layout, const DrawnRelation& relation, std::int64_t source,
                      std::int64_t destination) {
  const double x1 = layout.x(relation.source_set, source);
  const double x2 = layout.x(relation.destination_set, destination);
  const double y1 = layout.y(relation.source_set);
  const double y2 = layout.y(relation.destination_set);
  if (relation.source_set != relation.destination_set)
    return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2);
  const double side = layout.goes_above(relation, source, destination) ? -1 : 1;
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

/// Denser graphs have fainter edges.
double opacity(std::int64_t num_edges) {
  return std::clamp(4.0 / std::sqrt(static_cast<double>(num_edges)), 0.12, 0.8);
}

std::string edges_svg(const GraphDrawing& graph, const Layout& layout, double how_dark) {
  std::string svg;
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const DrawnRelation& relation = graph.relations[i];
    svg += fmt::format("<g class=\"edges s{}\" opacity=\"{:.2f}\">\n", i % kColours, how_dark);
    std::string path;
    for (std::size_t row = 0; row < relation.rows.size(); ++row) {
      const SeenSources& seen = relation.rows[row];
      for (std::int64_t source = seen.begin; source < seen.end; ++source) {
        path += edge_path(layout, relation, source, seen.destination);
      }
      const bool goes_on = row + 1 < relation.rows.size() && relation.rows[row + 1].destination == seen.destination;
      if (goes_on || path.empty()) continue;
      svg += fmt::format("<path data-node=\"{}-{}\" d=\"{}\"/>\n", relation.destination_set, seen.destination, path);
      path.clear();
    }
    svg += "</g>\n";
  }
  return svg;
}

/// For each node what it sees, in words: "sees a, b, c". Ranges of many are named by their ends.
std::vector<std::vector<std::string>> sights(const GraphDrawing& graph) {
  std::vector<std::vector<std::string>> found;
  for (const DrawnSet& set : graph.sets) found.emplace_back(set.labels.size());
  for (const DrawnRelation& relation : graph.relations) {
    const DrawnSet& sources = graph.sets[relation.source_set];
    for (const SeenSources& seen : relation.rows) {
      if (seen.begin >= seen.end) continue;
      std::string& text = found[relation.destination_set][static_cast<std::size_t>(seen.destination)];
      if (!text.empty()) text += ", ";
      if (graph.sets.size() > 1) text += sources.name + " ";
      text += sources.labels[static_cast<std::size_t>(seen.begin)];
      if (seen.end - seen.begin > 1) text += " … " + sources.labels[static_cast<std::size_t>(seen.end - 1)];
    }
  }
  return found;
}

std::string nodes_svg(const GraphDrawing& graph, const Layout& layout) {
  const auto seen = sights(graph);
  std::string svg;
  for (std::size_t set = 0; set < graph.sets.size(); ++set) {
    const DrawnSet& nodes = graph.sets[set];
    // Below the arcs of the upper set, above those of the lower one; of one set, where arcs below leave room.
    const bool is_above = graph.sets.size() > 1 && set == 1;
    for (std::size_t i = 0; i < nodes.labels.size(); ++i) {
      const double x = layout.x(set, static_cast<std::int64_t>(i));
      const double y = layout.y(set);
      const bool is_faint = i < nodes.faint.size() && nodes.faint[i];
      const std::string& sight = seen[set][i];
      const std::string says = nodes.labels[i] + (sight.empty() ? " sees nothing" : " sees " + sight);
      svg += fmt::format("<g class=\"node{}\" data-node=\"{}-{}\" role=\"img\" aria-label=\"{}\">",
                         is_faint ? " faint" : "", set, i, label_attribute(says));
      svg += fmt::format("<title>{}</title><circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>",
                         label_attribute(says), 5 + set, x, y, layout.radius());
      if (layout.is_labelled()) {
        svg +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x,
                        is_above ? y - 13 : y + 20, escaped_html(label_within(nodes.labels[i], layout.spacing() - 4)));
      }
      svg += "</g>\n";
    }
  }
  return svg;
}

/// Edges that are numbered in a row have their numbers: those of a batch do not, nor those that are left of a graph.
bool has_numbered_edges(const GraphDrawing& graph, const GraphDrawing& whole) {
  return graph.relations.size() > 1 && graph.sets[0].part_sizes.size() < 2 && graph.num_edges() == whole.num_edges();
}

std::string legend(const GraphDrawing& graph, bool is_numbered, double y) {
  std::string svg;
  std::int64_t first_edge = 0;
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const std::int64_t edges = graph.relations[i].num_edges();
    std::string text = graph.edges_in_words(i);
    if (is_numbered && edges > 0) text += fmt::format(", {}–{}", first_edge, first_edge + edges - 1);
    svg += fmt::format("<rect class=\"f{}\" x=\"{}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>", i % kColours, kMargin,
                       y - 9);
    svg += svg_text(kMargin + 16, y, text) + "\n";
    first_edge += edges;
    y += kLine;
  }
  return svg;
}

}  // namespace

std::int64_t DrawnRelation::num_edges() const {
  std::int64_t count = 0;
  for (const SeenSources& seen : rows) count += seen.end - seen.begin;
  return count;
}

std::int64_t GraphDrawing::num_nodes() const {
  std::int64_t count = 0;
  for (const DrawnSet& set : sets) count += std::ssize(set.labels);
  return count;
}

std::int64_t GraphDrawing::num_edges() const {
  std::int64_t count = 0;
  for (const DrawnRelation& relation : relations) count += relation.num_edges();
  return count;
}

std::string GraphDrawing::edges_in_words(std::size_t relation) const {
  const std::string name = relations.size() > 1 ? relations[relation].name + ": " : "";
  return fmt::format("{}{} edges", name, relations[relation].num_edges());
}

bool is_large(const GraphDrawing& graph) {
  return graph.num_nodes() >= kNodesOfAdjacency || graph.num_edges() >= kEdgesOfAdjacency;
}

SvgPicture draw_nodes(const GraphDrawing& graph, const GraphDrawing& whole) {
  const Layout layout(whole);
  SvgPicture picture;
  picture.title = graph.title;
  picture.width = std::max(layout.width(), 2 * kMargin + label_width(graph.title) * kTitleLetters);
  picture.height = layout.height() + kLine * static_cast<double>(graph.relations.size()) + 12;
  picture.body = svg_text(kMargin, 16, graph.title, "class=\"title\"") + "\n" +
                 edges_svg(graph, layout, opacity(whole.num_edges())) + nodes_svg(graph, layout) +
                 legend(graph, has_numbered_edges(graph, whole), layout.height() + 12);
  return picture;
}

SvgPicture draw_part(const GraphDrawing& part, const GraphDrawing& whole) {
  return is_large(whole) ? draw_adjacency(part) : draw_nodes(part, whole);
}

SvgPicture draw(const GraphDrawing& graph) { return draw_part(graph, graph); }

std::string json_of(const GraphDrawing& graph) {
  std::string sets;
  for (const DrawnSet& set : graph.sets) {
    std::string labels;
    for (const std::string& label : set.labels) labels += (labels.empty() ? "" : ", ") + json_quoted(label);
    sets +=
        (sets.empty() ? "" : ", ") + JsonObject().add("name", set.name).add_json("nodes", "[" + labels + "]").text();
  }
  std::string relations;
  for (const DrawnRelation& relation : graph.relations) {
    std::string rows;
    for (const SeenSources& seen : relation.rows) {
      rows += fmt::format("{}[{}, {}, {}]", rows.empty() ? "" : ", ", seen.destination, seen.begin, seen.end);
    }
    relations += (relations.empty() ? "" : ", ") + JsonObject()
                                                       .add("name", relation.name)
                                                       .add("from", graph.sets[relation.source_set].name)
                                                       .add("to", graph.sets[relation.destination_set].name)
                                                       .add("edges", relation.num_edges())
                                                       .add_json("rows", "[" + rows + "]")
                                                       .text();
  }
  return JsonObject()
      .add("title", graph.title)
      .add_json("sets", "[" + sets + "]")
      .add_json("relations", "[" + relations + "]")
      .text();
}

}  // namespace edgewise
