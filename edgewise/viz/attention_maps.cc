// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/base/json.h"

namespace edgewise {
namespace {

constexpr double kSmallMap = 96;
constexpr double kGap = 8;
constexpr double kLeft = 64;
constexpr double kTop = 48;

std::string index_text(const std::string& what, const std::optional<std::size_t>& index) {
  return index ? fmt::format("{} {}", what, *index) : fmt::format("mean of {}s", what);
}

/// Those that a choice names: one, or all of `count`.
std::vector<std::size_t> named(const std::optional<std::size_t>& index, std::size_t count) {
  if (index) return {*index};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

std::string list_json(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
  return "[" + list + "]";
}

std::string tokens_json(const std::vector<std::string>& tokens) {
  std::vector<std::string> quoted;
  quoted.reserve(tokens.size());
  for (const std::string& token : tokens) quoted.push_back(json_quoted(token));
  return list_json(quoted);
}

std::string rows_json(const std::vector<float>& weights, std::size_t columns) {
  std::string rows;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_first = i % columns == 0;
    rows += is_first ? (i == 0 ? "[" : "],\n  [") : ", ";
    rows += std::isnan(weights[i]) ? "null" : fmt::format("{}", weights[i]);
  }
  return "[" + rows + "]]";
}

}  // namespace

std::vector<MapChoice> all_choices(const AttentionMaps& maps) {
  std::vector<MapChoice> choices;
  for (std::size_t layer = 0; layer <= maps.num_layers(); ++layer) {
    for (std::size_t head = 0; head <= maps.num_heads(); ++head) {
      MapChoice choice;
      if (layer < maps.num_layers()) choice.layer = layer;
      if (head < maps.num_heads()) choice.head = head;
      choices.push_back(choice);
    }
  }
  return choices;
}

std::string name_of(const AttentionMaps& maps, const MapChoice& choice) {
  return fmt::format("{}, {}, {}", maps.name, index_text(maps.of_layers, choice.layer),
                     index_text("head", choice.head));
}

std::vector<float> weights_of(const AttentionMaps& maps, const MapChoice& choice) {
  if (choice.layer && choice.head) return maps.weights[*choice.layer][*choice.head];
  const std::size_t cells = maps.rows.size() * maps.columns.size();
  std::vector<double> sums(cells);
  std::vector<int> counts(cells);
  for (const std::size_t layer : named(choice.layer, maps.num_layers())) {
    for (const std::size_t head : named(choice.head, maps.num_heads())) {
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

HeatMap heat_map(const AttentionMaps& maps, const MapChoice& choice) {
  return {.title = name_of(maps, choice),
          .of_rows = maps.of_rows,
          .of_columns = maps.of_columns,
          .rows = maps.rows,
          .columns = maps.columns,
          .values = weights_of(maps, choice)};
}

SvgPicture draw_grid(const AttentionMaps& maps, const MapChoice& choice) {
  const std::vector<std::size_t> layers = named(choice.layer, maps.num_layers());
  const std::vector<std::size_t> heads = named(choice.head, maps.num_heads());
  const double cell =
      kSmallMap / static_cast<double>(std::max({maps.rows.size(), maps.columns.size(), std::size_t{1}}));
  const double wide = cell * static_cast<double>(maps.columns.size()) + kGap;
  const double high = cell * static_cast<double>(maps.rows.size()) + kGap;

  SvgPicture picture;
  picture.title = fmt::format("{}: rows are {}, columns {}", maps.name, maps.of_rows, maps.of_columns);
  picture.width = std::max(kLeft + wide * static_cast<double>(heads.size()) + kGap, 420.0);
  picture.height = kTop + high * static_cast<double>(layers.size()) + kLegendHeight + kGap;
  picture.body = svg_text(kGap, 16, picture.title, "class=\"title\"");
  for (std::size_t h = 0; h < heads.size(); ++h) {
    picture.body += svg_text(kLeft + (static_cast<double>(h) + 0.5) * wide - kGap / 2, kTop - kGap,
                             fmt::format("head {}", heads[h]), "text-anchor=\"middle\"");
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double y = kTop + static_cast<double>(l) * high;
    picture.body += svg_text(kLeft - kGap, y + (high - kGap) / 2 + 4, fmt::format("{} {}", maps.of_layers, layers[l]),
                             "text-anchor=\"end\"");
    for (std::size_t h = 0; h < heads.size(); ++h) {
      picture.body += draw_cells(heat_map(maps, {layers[l], heads[h]}), kLeft + static_cast<double>(h) * wide, y, cell);
    }
  }
  picture.body += colour_legend(kLeft, picture.height - kLegendHeight, "weight");
  return picture;
}

std::string json_of(const AttentionMaps& maps) {
  std::vector<std::string> layers;
  for (const auto& layer : maps.weights) {
    std::vector<std::string> heads;
    heads.reserve(layer.size());
    for (const std::vector<float>& head : layer) heads.push_back(rows_json(head, maps.columns.size()));
    layers.push_back(list_json(heads));
  }
  return JsonObject()
      .add("name", maps.name)
      .add("rows_are", maps.of_rows)
      .add("columns_are", maps.of_columns)
      .add("first_dimension", maps.of_layers)
      .add_json("rows", tokens_json(maps.rows))
      .add_json("columns", tokens_json(maps.columns))
      .add_json("weights", list_json(layers))
      .text();
}

}  // namespace edgewise
