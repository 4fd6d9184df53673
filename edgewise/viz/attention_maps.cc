// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "edgewise/base/files/json.h"

namespace edgewise {
namespace {

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
