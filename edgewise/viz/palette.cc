// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/palette.h"

#include <fmt/format.h>

#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

std::string make_colour_rules(std::string_view ThemedColour::*theme) {
  std::string rules;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    rules += fmt::format(".s{0} {{ stroke: {1}; }} .f{0} {{ fill: {1}; }}\n", i, kPalette[i].*theme);
  }
  return rules;
}

}  // namespace

std::string drawing_style() {
  return fmt::format("{}{}@media (prefers-color-scheme: dark) {{\n{}}}\n", page_file("drawing.css"),
                     make_colour_rules(&ThemedColour::on_light), make_colour_rules(&ThemedColour::on_dark));
}

}  // namespace edgewise
