// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/viz/heat_map.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// The attention of one kind in all layers and heads of a model: rows look at columns.
struct AttentionMaps {
  std::string name;       // "cross-attention"
  std::string of_layers;  // what a layer is called: "layer", "step"
  std::string of_rows;    // what rows are: "output"
  std::string of_columns;
  std::vector<std::string> rows;  // tokens
  std::vector<std::string> columns;
  std::vector<std::vector<std::vector<float>>> weights;  // [layers][heads], row by row; NaN where there is no edge

  std::size_t num_layers() const { return weights.size(); }
  std::size_t num_heads() const { return weights.empty() ? 0 : weights.front().size(); }
};

/// One map: of a layer and a head, or the mean over all where none is named.
struct MapChoice {
  std::optional<std::size_t> layer = {};
  std::optional<std::size_t> head = {};
};

/// All of them: layer by layer and head by head, behind the heads of a layer their mean, behind the layers theirs.
std::vector<MapChoice> all_choices(const AttentionMaps& maps);

/// "cross-attention, layer 2, mean of heads".
std::string name_of(const AttentionMaps& maps, const MapChoice& choice);

/// Its weights. A mean is over the maps in which a cell has any: rows go on to sum to 1.
std::vector<float> weights_of(const AttentionMaps& maps, const MapChoice& choice);

HeatMap heat_map(const AttentionMaps& maps, const MapChoice& choice);

/// Small maps side by side, without labels of tokens: a row a layer, or `layer` alone; a column a head, or `head`
/// alone.
SvgPicture draw_grid(const AttentionMaps& maps, const MapChoice& choice = {});

/// Names, tokens, and weights to all their digits; null where there is no edge. One object.
std::string json_of(const AttentionMaps& maps);

}  // namespace edgewise
