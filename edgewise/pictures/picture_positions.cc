// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/positions/position_formula.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/signal_picture.h"

namespace edgewise {
namespace {

constexpr std::string_view kPicturePositions = "picture positions";

/// Lists the kinds of position vectors that have a formula for the size.
std::vector<PositionKind> kinds_of(const PositionPictureOptions& options) {
  std::vector<PositionKind> kinds;
  for (const auto& named : enum_names(PositionKind{})) {
    if (has_formula(named.value) && options.size >= smallest_position_size(named.value)) kinds.push_back(named.value);
  }
  return kinds;
}

/// Returns the vectors that models add to their token embeddings.
Signal signal_of(PositionKind kind, const PositionPictureOptions& options) {
  Signal signal{.title = fmt::format("Positions, {}", enum_name(kind)),
                .positions = options.positions,
                .size = options.size,
                .values = std::vector<float>(static_cast<std::size_t>(options.positions * options.size))};
  const PositionFormula formula(options.size, kind);
  for (std::int64_t position = 0; position < options.positions; ++position) {
    formula.write(position, signal.values.data() + position * options.size);
  }
  return signal;
}

std::vector<SvgPicture> pictures_of(const PositionPictureOptions& options) {
  std::vector<SvgPicture> pictures;
  for (const PositionKind kind : kinds_of(options)) {
    const Signal signal = signal_of(kind, options);
    pictures.push_back(draw_map(signal));
    pictures.push_back(draw_curves(signal, options.dimensions));
  }
  return pictures;
}

std::string page_of(const PositionPictureOptions& options) {
  std::string body =
      "<p>What tells a model where a word stands: a vector for each position, of sines and cosines that are slower "
      "from "
      "dimension to dimension.</p>\n";
  for (const SvgPicture& picture : pictures_of(options)) body += svg_for_page(picture);
  return html_page({.title = "Positions", .body = body});
}

std::string json_of(const PositionPictureOptions& options) {
  JsonObject json;
  for (const PositionKind kind : kinds_of(options)) {
    const Signal signal = signal_of(kind, options);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(signal.positions));
    std::iota(positions.begin(), positions.end(), 0);
    json.add_json(enum_name(kind), json_array(positions, [&](std::int64_t position) {
                    const float* row = signal.values.data() + position * signal.size;
                    return fmt::format("[{}]", fmt::join(row, row + signal.size, ", "));
                  }));
  }
  return json.text() + "\n";
}

}  // namespace

PictureForms picture_positions(const PositionPictureOptions& options) {
  for (const std::int64_t dimension : options.dimensions) {
    check(dimension >= 0 && dimension < options.size, "{}: --dimensions has {}, needs 0 to {} of size {}",
          kPicturePositions, dimension, options.size - 1, options.size);
  }
  return {.html = [options] { return page_of(options); },
          .svg = [options] { return svg_file(arrange_pictures("Positions", pictures_of(options), 2)); },
          .json = [options] { return json_of(options); }};
}

}  // namespace edgewise
