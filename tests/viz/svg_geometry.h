// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdlib>
#include <regex>
#include <string>

#include "edgewise/viz/raster.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// Returns the first attribute that is no number within the picture, with a tolerance for rounding, or a negative size;
/// empty for a picture whose coordinates are all right. Understands the elements of charts, which have no transforms.
inline std::string find_bad_coordinate(const SvgPicture& picture) {
  const auto is_within = [](const std::string& text, double end) {
    char* rest = nullptr;
    const double value = std::strtod(text.c_str(), &rest);
    return rest == text.c_str() + text.size() && std::isfinite(value) && value >= -0.1 && value <= end + 0.1;
  };
  static const std::regex attribute(R"re( (x|x1|x2|cx|width|y|y1|y2|cy|height|r|points)="([^"]*)")re");
  static const std::regex point("([^ ,]*),([^ ,]*) ");
  const std::string& body = picture.body;
  for (std::sregex_iterator found(body.begin(), body.end(), attribute), end; found != end; ++found) {
    const std::string name = (*found)[1];
    const std::string value = (*found)[2];
    if (name != "points") {
      const bool is_vertical = name.starts_with('y') || name == "cy" || name == "height";
      if (!is_within(value, is_vertical ? picture.height : picture.width)) return found->str();
      continue;
    }
    for (std::sregex_iterator pair(value.begin(), value.end(), point); pair != end; ++pair) {
      if (!is_within((*pair)[1], picture.width) || !is_within((*pair)[2], picture.height)) return pair->str();
    }
  }
  return "";
}

/// Renders the picture as a file; throws Error if it is not valid SVG.
inline void require_valid(const SvgPicture& picture) { rasterise(svg_file(picture), 0.1); }

}  // namespace edgewise
