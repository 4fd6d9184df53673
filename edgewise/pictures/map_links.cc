// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/map_links.h"

#include <cmath>
#include <optional>
#include <span>

#include "edgewise/base/sorting.h"

namespace edgewise {
namespace {

/// Returns the column of the largest weight; nothing for a row of NaN only.
std::optional<std::size_t> find_strongest(std::span<const float> row) {
  std::optional<std::size_t> strongest;
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (std::isnan(row[column])) continue;
    if (!strongest || row[column] > row[*strongest]) strongest = column;
  }
  return strongest;
}

}  // namespace

std::vector<WordLink> link_words(const AttentionMaps& cross, const MapIndex& map, const TokenWords& words) {
  const std::vector<float> weights = weights_of(cross, map);
  const std::size_t columns = cross.columns.size();
  std::vector<WordLink> links;
  for (std::size_t row = 0; row < cross.rows.size(); ++row) {
    const auto strongest = find_strongest(std::span(weights).subspan(row * columns, columns));
    if (!strongest || words.of_row[row] < 0 || words.of_column[*strongest] < 0) continue;
    links.push_back({words.of_column[*strongest], words.of_row[row]});
  }
  sort_unique(links);
  return links;
}

void add_pair(std::vector<MapErrors>& maps, const AttentionMaps& cross, const TokenWords& words,
              const GoldAlignment& gold) {
  for (MapErrors& errors : maps) {
    if (errors.map.layer && *errors.map.layer >= cross.num_layers()) continue;
    errors.errors.add(link_words(cross, errors.map, words), gold);
    ++errors.pairs;
  }
}

}  // namespace edgewise
