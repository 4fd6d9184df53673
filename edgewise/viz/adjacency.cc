// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "edgewise/viz/axis.h"
#include "edgewise/viz/graph_picture.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr std::int64_t kMostCells = 240;  // a side
constexpr double kSide = 480;             // of the matrix at most
constexpr double kLargestCell = 22;
constexpr double kRoom = 60;  // left of the matrix, and above it below the title
constexpr double kTitle = 26;
constexpr double kLine = 18;
constexpr int kLevels = 8;  // of darkness

/// How full each cell is.
class Cells {
 public:
  explicit Cells(std::int64_t nodes)
      : nodes_(nodes), side_(std::min(nodes, kMostCells)), edges_(static_cast<std::size_t>(side_ * side_)) {}

  std::int64_t side() const { return side_; }
  bool are_nodes() const { return side_ == nodes_; }

  void add(std::int64_t destination, std::int64_t begin, std::int64_t end) {
    const std::int64_t row = cell_of(destination);
    while (begin < end) {
      const std::int64_t column = cell_of(begin);
      const std::int64_t next = std::min(end, first_of(column + 1));
      edges_[static_cast<std::size_t>(row * side_ + column)] += static_cast<double>(next - begin);
      begin = next;
    }
  }

  /// 0 for none, kLevels for all edges that there could be; one is seen too.
  int level(std::int64_t row, std::int64_t column) const {
    const double edges = edges_[static_cast<std::size_t>(row * side_ + column)];
    const auto room = static_cast<double>(size_of(row) * size_of(column));
    return std::min(kLevels, static_cast<int>(std::ceil(kLevels * edges / room)));
  }

 private:
  std::int64_t cell_of(std::int64_t node) const { return node * side_ / nodes_; }
  /// The first node of a cell: the smallest that cell_of takes to it.
  std::int64_t first_of(std::int64_t cell) const { return (cell * nodes_ + side_ - 1) / side_; }
  std::int64_t size_of(std::int64_t cell) const { return first_of(cell + 1) - first_of(cell); }

  std::int64_t nodes_;
  std::int64_t side_;
  std::vector<double> edges_;
};

/// Runs of cells of one level, as a path.
std::string path_of(const Cells& cells, int level, double size) {
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

std::string cells_svg(const Cells& cells, std::size_t colour, double size) {
  std::string svg;
  for (int level = 1; level <= kLevels; ++level) {
    const std::string path = path_of(cells, level, size);
    if (path.empty()) continue;
    svg += fmt::format("<path class=\"cells f{}\" opacity=\"{:.3g}\" d=\"{}\"/>\n", colour % kColours,
                       0.15 + 0.85 * level / kLevels, path);
  }
  return svg;
}

/// Where each node of each set stands in a matrix of all: part by part, and in a part set by set.
std::vector<std::vector<std::int64_t>> places_of(const GraphDrawing& graph) {
  std::vector<std::vector<std::int64_t>> places(graph.sets.size());
  std::size_t parts = 1;
  for (const DrawnSet& set : graph.sets) parts = std::max(parts, set.part_sizes.size());
  std::int64_t next = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    for (std::size_t i = 0; i < graph.sets.size(); ++i) {
      const DrawnSet& set = graph.sets[i];
      const std::int64_t size = set.part_sizes.empty() ? std::ssize(set.labels) : set.part_sizes[part];
      for (std::int64_t node = 0; node < size; ++node) places[i].push_back(next++);
    }
  }
  return places;
}

std::string labels_svg(const GraphDrawing& graph, const std::vector<std::vector<std::int64_t>>& places, double size) {
  std::string svg;
  for (std::size_t set = 0; set < graph.sets.size(); ++set) {
    for (std::size_t node = 0; node < places[set].size(); ++node) {
      const double middle = (static_cast<double>(places[set][node]) + 0.5) * size;
      const std::string text = escaped_html(label_within(graph.sets[set].labels[node], kRoom - 8));
      svg += fmt::format("<text x=\"-6\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", middle + 4, text);
      svg += fmt::format("<text transform=\"translate({:.1f} -6) rotate(-90)\">{}</text>\n", middle + 4, text);
    }
  }
  return svg;
}

/// Round node numbers along both sides.
std::string numbers_svg(const GraphDrawing& graph, double side) {
  const Axis axis = {.lowest = 0, .highest = static_cast<double>(graph.num_nodes())};
  std::string svg;
  for (const double tick : axis.ticks(6)) {
    const double place = axis.place(tick) * side;
    const std::string number = short_number(tick);
    svg += fmt::format("<text x=\"-6\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", place + 4, number);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"-6\" text-anchor=\"middle\">{}</text>\n", place, number);
  }
  return svg;
}

std::string legend(const GraphDrawing& graph, const Cells& cells, double y) {
  std::string svg;
  for (std::size_t i = 0; i < graph.relations.size(); ++i, y += kLine) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>", i % kColours, kRoom,
                       y - 9);
    svg += svg_text(kRoom + 16, y, graph.edges_in_words(i)) + "\n";
  }
  const auto shared = static_cast<double>(graph.num_nodes()) / static_cast<double>(cells.side());
  const std::string of_cells =
      cells.are_nodes() ? ""
                        : fmt::format("; a cell is {:.3g} × {:.3g} nodes, the fuller the stronger", shared, shared);
  svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\">a row sees its columns{}</text>\n", kRoom, y, of_cells);
  return svg;
}

}  // namespace

SvgPicture draw_adjacency(const GraphDrawing& graph) {
  const auto places = places_of(graph);
  const std::int64_t nodes = std::max<std::int64_t>(1, graph.num_nodes());
  const Cells empty(nodes);
  const double size = std::min(kLargestCell, kSide / static_cast<double>(empty.side()));
  const double side = size * static_cast<double>(empty.side());
  const bool has_labels = empty.are_nodes() && size >= 11;
  const double top = kTitle + (has_labels ? kRoom : kLine);
  const double legend_top = top + side + 24;

  SvgPicture picture;
  picture.title = graph.title;
  picture.width = kRoom + std::max(side + 24, 420.0);
  picture.height = legend_top + kLine * static_cast<double>(graph.relations.size()) + 12;
  std::string& svg = picture.body;
  svg = svg_text(kRoom, 16, graph.title, "class=\"title\"");
  svg += fmt::format("<g transform=\"translate({} {})\">\n<rect class=\"frame\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                     kRoom, top, side, side);
  for (std::size_t i = 0; i < graph.relations.size(); ++i) {
    const DrawnRelation& relation = graph.relations[i];
    Cells cells(nodes);
    for (const SeenSources& seen : relation.rows) {
      if (seen.begin >= seen.end) continue;
      // A row's sources are of its part, so they stand side by side.
      const std::int64_t begin = places[relation.source_set][static_cast<std::size_t>(seen.begin)];
      cells.add(places[relation.destination_set][static_cast<std::size_t>(seen.destination)], begin,
                begin + seen.end - seen.begin);
    }
    svg += cells_svg(cells, i, size);
  }
  if (graph.num_nodes() > 0) svg += has_labels ? labels_svg(graph, places, size) : numbers_svg(graph, side);
  svg += "</g>\n" + legend(graph, empty, legend_top);
  return picture;
}

}  // namespace edgewise
