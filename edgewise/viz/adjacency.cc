// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/base/escape_html.h"
#include "edgewise/viz/axis.h"
#include "edgewise/viz/graph_picture.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr std::int64_t kMaxCells = 240;  // per side of the matrix
constexpr double kMaxSide = 480;         // width and height of the matrix
constexpr double kMaxCellSize = 22;
constexpr double kLabelWidth = 60;  // space for labels left of the matrix and above it
constexpr double kTitleHeight = 26;
constexpr double kLineHeight = 18;
constexpr int kLevels = 8;  // number of opacities

/// The number of edges in each cell of the matrix.
class EdgeCounts {
 public:
  explicit EdgeCounts(std::int64_t nodes)
      : nodes_(nodes), side_(std::min(nodes, kMaxCells)), edges_(static_cast<std::size_t>(side_ * side_)) {}

  std::int64_t side() const { return side_; }
  bool has_cell_per_node() const { return side_ == nodes_; }

  void add(std::int64_t destination, std::int64_t begin, std::int64_t end) {
    const std::int64_t row = cell_of(destination);
    while (begin < end) {
      const std::int64_t column = cell_of(begin);
      const std::int64_t next = std::min(end, first_node(column + 1));
      edges_[static_cast<std::size_t>(row * side_ + column)] += static_cast<double>(next - begin);
      begin = next;
    }
  }

  /// Returns the fraction of a cell's possible edges that exist, in units of 1 / kLevels, rounded up.
  int level(std::int64_t row, std::int64_t column) const {
    const double edges = edges_[static_cast<std::size_t>(row * side_ + column)];
    const auto possible = static_cast<double>(nodes_in(row) * nodes_in(column));
    return std::min(kLevels, static_cast<int>(std::ceil(kLevels * edges / possible)));
  }

 private:
  std::int64_t cell_of(std::int64_t node) const { return node * side_ / nodes_; }
  std::int64_t first_node(std::int64_t cell) const { return (cell * nodes_ + side_ - 1) / side_; }
  std::int64_t nodes_in(std::int64_t cell) const { return first_node(cell + 1) - first_node(cell); }

  std::int64_t nodes_;
  std::int64_t side_;
  std::vector<double> edges_;
};

/// Returns an SVG path of the cells of one level, with one rectangle per horizontal run of cells.
std::string make_level_path(const EdgeCounts& cells, int level, double size) {
  std::string path;
  for (std::int64_t row = 0; row < cells.side(); ++row) {
    for (std::int64_t column = 0; column < cells.side();) {
      const std::int64_t begin = column;
      while (column < cells.side() && cells.level(row, column) == level) ++column;
      if (column == begin) {
        ++column;
        continue;
      }
      path += fmt::format("M{:.4g} {:.4g}h{:.4g}v{:.4g}h{:.4g}z", static_cast<double>(begin) * size,
                          static_cast<double>(row) * size, static_cast<double>(column - begin) * size, size,
                          static_cast<double>(begin - column) * size);
    }
  }
  return path;
}

std::string draw_relation(const EdgeCounts& cells, std::size_t colour, double size) {
  std::string svg;
  for (int level = 1; level <= kLevels; ++level) {
    const std::string path = make_level_path(cells, level, size);
    if (path.empty()) continue;
    svg += fmt::format("<path class=\"cells f{}\" opacity=\"{:.3g}\" d=\"{}\"/>\n", colour % kColours,
                       0.15 + 0.85 * level / kLevels, path);
  }
  return svg;
}

/// Returns the row of each node of each set in the matrix: part by part, and within a part set by set.
std::vector<std::vector<std::int64_t>> number_nodes(const GraphDrawing& graph) {
  std::vector<std::vector<std::int64_t>> numbers(graph.sets.size());
  std::size_t parts = 1;
  for (const NodeSetDrawing& set : graph.sets) parts = std::max(parts, set.part_sizes.size());
  std::int64_t next = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    for (std::size_t i = 0; i < graph.sets.size(); ++i) {
      const NodeSetDrawing& set = graph.sets[i];
      const std::int64_t size = set.part_sizes.empty() ? std::ssize(set.labels) : set.part_sizes[part];
      for (std::int64_t node = 0; node < size; ++node) numbers[i].push_back(next++);
    }
  }
  return numbers;
}

std::string draw_node_labels(const GraphDrawing& graph, const std::vector<std::vector<std::int64_t>>& numbers,
                             double size) {
  std::string svg;
  for (std::size_t set = 0; set < graph.sets.size(); ++set) {
    for (std::size_t node = 0; node < numbers[set].size(); ++node) {
      const double middle = (static_cast<double>(numbers[set][node]) + 0.5) * size;
      const std::string text = escape_html(fit_label(graph.sets[set].labels[node], kLabelWidth - 8));
      svg += fmt::format("<text x=\"-6\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", middle + 4, text);
      svg += fmt::format("<text transform=\"translate({:.1f} -6) rotate(-90)\">{}</text>\n", middle + 4, text);
    }
  }
  return svg;
}

/// Writes round node numbers along both sides.
std::string draw_node_numbers(const GraphDrawing& graph, double side) {
  const Axis axis(0, static_cast<double>(graph.num_nodes()));
  std::string svg;
  for (const double tick : axis.ticks(6)) {
    const double position = axis.normalise(tick) * side;
    const std::string number = format_number(tick);
    svg += fmt::format("<text x=\"-6\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", position + 4, number);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"-6\" text-anchor=\"middle\">{}</text>\n", position, number);
  }
  return svg;
}

std::string draw_legend(const GraphDrawing& graph, const EdgeCounts& cells, double y) {
  std::string svg;
  for (std::size_t i = 0; i < graph.relations.size(); ++i, y += kLineHeight) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>", i % kColours,
                       kLabelWidth, y - 9);
    svg += svg_text(kLabelWidth + 16, y, graph.describe_edges(i)) + "\n";
  }
  const auto shared = static_cast<double>(graph.num_nodes()) / static_cast<double>(cells.side());
  const std::string cell_note =
      cells.has_cell_per_node()
          ? ""
          : fmt::format("; a cell is {:.3g} × {:.3g} nodes, the fuller the stronger", shared, shared);
  svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\">a row sees its columns{}</text>\n", kLabelWidth, y, cell_note);
  return svg;
}

}  // namespace

SvgPicture draw_adjacency(const GraphDrawing& graph) {
  const auto numbers = number_nodes(graph);
  const std::int64_t nodes = std::max<std::int64_t>(1, graph.num_nodes());
  const EdgeCounts empty(nodes);
  const double size = std::min(kMaxCellSize, kMaxSide / static_cast<double>(empty.side()));
  const double side = size * static_cast<double>(empty.side());
  const bool has_labels = empty.has_cell_per_node() && size >= 11;
  const double top = kTitleHeight + (has_labels ? kLabelWidth : kLineHeight);
  const double legend_top = top + side + 24;

  SvgPicture picture;
  picture.title = graph.title;
  picture.width = kLabelWidth + std::max(side + 24, 420.0);
  picture.height = legend_top + kLineHeight * static_cast<double>(graph.relations.size()) + 12;
  std::string& svg = picture.body;
  svg = svg_text(kLabelWidth, 16, graph.title, "class=\"title\"");
  svg += fmt::format("<g transform=\"translate({} {})\">\n<rect class=\"frame\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                     kLabelWidth, top, side, side);
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const RelationDrawing& relation = graph.relations[i];
    EdgeCounts cells(nodes);
    for (const IntervalRow& row : relation.rows) {
      if (row.begin >= row.end) continue;
      // The sources of a row belong to one part, so that their numbers are contiguous.
      const std::int64_t begin = numbers[relation.source_set][static_cast<std::size_t>(row.begin)];
      cells.add(numbers[relation.destination_set][static_cast<std::size_t>(row.destination)], begin,
                begin + row.end - row.begin);
    }
    svg += draw_relation(cells, i, size);
  }
  if (graph.num_nodes() > 0)
    svg += has_labels ? draw_node_labels(graph, numbers, size) : draw_node_numbers(graph, side);
  svg += "</g>\n" + draw_legend(graph, empty, legend_top);
  return picture;
}

}  // namespace edgewise
