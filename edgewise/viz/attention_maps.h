// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/viz/heat_map.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// The attention weights of one kind in all layers and heads of a model. Rows are the queries, columns the keys.
struct AttentionMaps {
  std::string name;               // "cross-attention"
  std::string layer_name;         // "layer", or "step" for a Universal Transformer
  std::string row_title;          // name of the rows: "output"
  std::string column_title;       // name of the columns: "input"
  std::vector<std::string> rows;  // tokens
  std::vector<std::string> columns;
  std::vector<std::vector<std::vector<float>>> weights;  // [layers][heads][rows * columns]; NaN: no edge

  std::size_t num_layers() const { return weights.size(); }
  std::size_t num_heads() const { return weights.empty() ? 0 : weights.front().size(); }
};

/// The layer and head of one map. An unset layer or head selects the mean over all layers or heads.
struct MapIndex {
  std::optional<std::size_t> layer = {};
  std::optional<std::size_t> head = {};
};

/// Lists all maps, layer by layer and head by head. The mean over heads follows the heads of each layer. The maps of
/// the mean over layers are last.
std::vector<MapIndex> list_map_indices(const AttentionMaps& maps);

/// Returns a map's name: "cross-attention, layer 2, mean of heads".
std::string name_of(const AttentionMaps& maps, const MapIndex& index);

/// Returns a map's weights [rows * columns]. The mean of a cell is over the maps where the cell is not NaN: for
/// example, over the steps before a token halted.
std::vector<float> weights_of(const AttentionMaps& maps, const MapIndex& index);

HeatMap make_heat_map(const AttentionMaps& maps, const MapIndex& index);

/// Draws a grid of small maps without token labels: one row per layer and one column per head. A layer or head in
/// `index` restricts the grid to this layer or head.
SvgPicture draw_grid(const AttentionMaps& maps, const MapIndex& index = {});

/// Writes names, tokens and weights as one JSON object. Weights have all their digits; null means no edge. Throws
/// StopException if `stop` is set, which is read before each head.
std::string json_of(const AttentionMaps& maps, const StopRequest* stop = nullptr);

}  // namespace edgewise
