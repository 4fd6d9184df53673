// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/arranged.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace edgewise {
namespace {

constexpr double kGap = 16;

}  // namespace

SvgPicture arranged(std::string title, std::span<const SvgPicture> pictures, std::size_t columns) {
  std::vector<double> widths(columns);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % columns] = std::max(widths[i % columns], pictures[i].width);
  }
  SvgPicture whole{.width = 0, .height = 0, .title = std::move(title), .body = {}};
  for (std::size_t row = 0; row < pictures.size(); row += columns) {
    double x = 0;
    double height = 0;
    const std::size_t end = std::min(row + columns, pictures.size());
    for (std::size_t i = row; i < end; ++i) {
      whole.body +=
          fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, whole.height, pictures[i].body);
      x += widths[i - row] + kGap;
      height = std::max(height, pictures[i].height);
    }
    whole.width = std::max(whole.width, x - kGap);
    whole.height += height + (end < pictures.size() ? kGap : 0);
  }
  return whole;
}

std::string svg_in_full(const SvgPicture& picture) {
  // A page draws as wide as there is room; this one has its width.
  return fmt::format("<div class=\"wide\"><div style=\"width: {:.0f}px\">{}</div></div>\n", picture.width,
                     svg_for_page(picture));
}

}  // namespace edgewise
