// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kCellSize = 18;
constexpr double kFontSize = 11;
constexpr double kGap = 6;
constexpr double kTitleHeight = 22;
constexpr int kLevels = 100;  // number of steps of the colour scale; single steps are not visible

double max_label_width(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(printable_token(label)));
  return width * kFontSize;
}

std::string draw_row_labels(const HeatMap& map, double x, double y) {
  std::string svg;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    svg += svg_text(x, y + (static_cast<double>(row) + 0.5) * kCellSize + 4, printable_token(map.rows[row]),
                    "text-anchor=\"end\"");
  }
  return svg;
}

std::string draw_column_labels(const HeatMap& map, double x, double y) {
  std::string svg;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const double middle = x + (static_cast<double>(column) + 0.5) * kCellSize + 4;
    svg += svg_text(middle, y, printable_token(map.columns[column]),
                    fmt::format("transform=\"rotate(-90 {:.6g} {:.6g})\"", middle, y));
  }
  return svg;
}

constexpr double kMapSize = 96;
constexpr double kGridGap = 8;
constexpr double kGridLeft = 64;
constexpr double kGridTop = 48;

std::string describe_index(const std::string& name, const std::optional<std::size_t>& index) {
  return index ? fmt::format("{} {}", name, *index) : fmt::format("mean of {}s", name);
}

/// Returns the selected index, or all indices below `count`.
std::vector<std::size_t> select_indices(const std::optional<std::size_t>& index, std::size_t count) {
  if (index) return {*index};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// Writes a matrix with one row per line. A weight that is not finite becomes null.
std::string rows_json(const std::vector<float>& weights, std::size_t num_rows, std::size_t num_columns) {
  std::string rows;
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::span<const float> cells = std::span(weights).subspan(row * num_columns, num_columns);
    rows += row == 0 ? "" : ",\n  ";
    rows += json_array(cells, [](float cell) { return std::isfinite(cell) ? fmt::format("{}", cell) : "null"; });
  }
  return "[" + rows + "]";
}

}  // namespace

// There is one path per colour: a file with one element per cell would be ten times as large.
std::string draw_cells(const HeatMap& map, double x, double y, double size) {
  std::array<std::string, kLevels + 1> paths;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const float value = map.value(row, column);
      if (std::isnan(value)) continue;
      const auto level = static_cast<std::size_t>(std::lround(kLevels * std::clamp(value, 0.0f, 1.0f)));
      paths[level] += fmt::format("M{} {}h1v1h-1z", column, row);
    }
  }
  std::string svg = fmt::format(
      "<g transform=\"translate({:.6g} {:.6g}) scale({:.6g})\" shape-rendering=\"crispEdges\">", x, y, size);
  for (std::size_t level = 0; level < paths.size(); ++level) {
    if (paths[level].empty()) continue;
    svg +=
        fmt::format("<path fill=\"{}\" d=\"{}\"/>", hex(colour_of(static_cast<double>(level) / kLevels)), paths[level]);
  }
  return svg + "</g>";
}

SvgPicture draw(const HeatMap& map) {
  check(map.values.size() == map.rows.size() * map.columns.size(),
        "draw: the heat map has {} values, {} rows of {} columns need {}", map.values.size(), map.rows.size(),
        map.columns.size(), map.rows.size() * map.columns.size());
  const double left = max_label_width(map.rows) + 2 * kGap + kFontSize + kGap;
  const double top = kTitleHeight + max_label_width(map.columns) + 2 * kGap + kFontSize + kGap;
  const double right = left + kCellSize * static_cast<double>(map.columns.size());
  const double bottom = top + kCellSize * static_cast<double>(map.rows.size());

  SvgPicture picture;
  picture.title = map.title;
  picture.width = std::max({right, left + kLegendWidth + text_width("weight") * kFontSize,
                            text_width(map.title) * kFontSize * 1.3}) +
                  kGap;
  picture.height = bottom + 2 * kGap + kLegendHeight;
  picture.body = svg_text(kGap, 14, map.title, "class=\"title\"");
  picture.body += svg_text((left + right) / 2, kTitleHeight + kFontSize, map.column_title, "text-anchor=\"middle\"");
  picture.body += svg_text(
      kFontSize, (top + bottom) / 2, map.row_title,
      fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 {:.6g} {:.6g})\"", kFontSize, (top + bottom) / 2));
  picture.body += draw_column_labels(map, left, top - kGap);
  picture.body += draw_row_labels(map, left - kGap, top);
  picture.body += draw_cells(map, left, top, kCellSize);
  picture.body += colour_legend(left, bottom + 2 * kGap, "weight");
  return picture;
}

std::vector<MapIndex> list_map_indices(const AttentionMaps& maps) {
  std::vector<MapIndex> indices;
  for (std::size_t layer = 0; layer <= maps.num_layers(); ++layer) {
    for (std::size_t head = 0; head <= maps.num_heads(); ++head) {
      MapIndex index;
      if (layer < maps.num_layers()) index.layer = layer;
      if (head < maps.num_heads()) index.head = head;
      indices.push_back(index);
    }
  }
  return indices;
}

std::string name_of(const AttentionMaps& maps, const MapIndex& index) {
  return fmt::format("{}, {}, {}", maps.name, describe_index(maps.layer_name, index.layer),
                     describe_index("head", index.head));
}

std::vector<float> weights_of(const AttentionMaps& maps, const MapIndex& index) {
  if (index.layer && index.head) return maps.weights[*index.layer][*index.head];
  const std::size_t cells = maps.rows.size() * maps.columns.size();
  std::vector<double> sums(cells);
  std::vector<int> counts(cells);
  for (const std::size_t layer : select_indices(index.layer, maps.num_layers())) {
    for (const std::size_t head : select_indices(index.head, maps.num_heads())) {
      const std::vector<float>& weights = maps.weights[layer][head];
      for (std::size_t cell = 0; cell < cells; ++cell) {
        if (std::isnan(weights[cell])) continue;
        sums[cell] += weights[cell];
        ++counts[cell];
      }
    }
  }
  std::vector<float> means(cells, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (counts[cell] > 0) means[cell] = static_cast<float>(sums[cell] / counts[cell]);
  }
  return means;
}

HeatMap make_heat_map(const AttentionMaps& maps, const MapIndex& index) {
  return {.title = name_of(maps, index),
          .row_title = maps.row_title,
          .column_title = maps.column_title,
          .rows = maps.rows,
          .columns = maps.columns,
          .values = weights_of(maps, index)};
}

SvgPicture draw_grid(const AttentionMaps& maps, const MapIndex& index) {
  const std::vector<std::size_t> layers = select_indices(index.layer, maps.num_layers());
  const std::vector<std::size_t> heads = select_indices(index.head, maps.num_heads());
  const double cell = kMapSize / static_cast<double>(std::max({maps.rows.size(), maps.columns.size(), std::size_t{1}}));
  const double spacing_x = cell * static_cast<double>(maps.columns.size()) + kGridGap;
  const double spacing_y = cell * static_cast<double>(maps.rows.size()) + kGridGap;

  SvgPicture picture;
  picture.title = fmt::format("{}: rows are {}, columns {}", maps.name, maps.row_title, maps.column_title);
  picture.width = std::max(kGridLeft + spacing_x * static_cast<double>(heads.size()) + kGridGap, 420.0);
  picture.height = kGridTop + spacing_y * static_cast<double>(layers.size()) + kLegendHeight + kGridGap;
  picture.body = svg_text(kGridGap, 16, picture.title, "class=\"title\"");
  for (std::size_t h = 0; h < heads.size(); ++h) {
    picture.body += svg_text(kGridLeft + (static_cast<double>(h) + 0.5) * spacing_x - kGridGap / 2, kGridTop - kGridGap,
                             fmt::format("head {}", heads[h]), "text-anchor=\"middle\"");
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double y = kGridTop + static_cast<double>(l) * spacing_y;
    picture.body += svg_text(kGridLeft - kGridGap, y + (spacing_y - kGridGap) / 2 + 4,
                             fmt::format("{} {}", maps.layer_name, layers[l]), "text-anchor=\"end\"");
    for (std::size_t h = 0; h < heads.size(); ++h) {
      picture.body += draw_cells(make_heat_map(maps, {layers[l], heads[h]}),
                                 kGridLeft + static_cast<double>(h) * spacing_x, y, cell);
    }
  }
  picture.body += colour_legend(kGridLeft, picture.height - kLegendHeight, "weight");
  return picture;
}

std::string json_of(const AttentionMaps& maps, const StopRequest* stop) {
  const auto head_json = [&](const std::vector<float>& head) {
    throw_if_set(stop);
    return rows_json(head, maps.rows.size(), maps.columns.size());
  };
  return JsonObject()
      .add("name", maps.name)
      .add("rows_are", maps.row_title)
      .add("columns_are", maps.column_title)
      .add("first_dimension", maps.layer_name)
      .add_json("rows", json_array(maps.rows, quote_json))
      .add_json("columns", json_array(maps.columns, quote_json))
      .add_json("weights", json_array(maps.weights, [&](const auto& heads) { return json_array(heads, head_json); }))
      .text();
}

}  // namespace edgewise
