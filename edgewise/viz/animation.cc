// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/animation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/pages.h"
#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

constexpr double kCaption = 22;

SvgPicture with_caption(const Frame& frame) {
  SvgPicture picture = frame.picture;
  picture.body += svg_text(picture.width / 2, picture.height + 14, frame.caption, "text-anchor=\"middle\"");
  picture.height += kCaption;
  return picture;
}

/// Frames of an animation are of one size.
std::vector<SvgPicture> of_one_size(std::span<const Frame> frames) {
  std::vector<SvgPicture> pictures;
  double width = 0;
  double height = 0;
  for (const Frame& frame : frames) {
    width = std::max(width, frame.picture.width);
    height = std::max(height, frame.picture.height);
  }
  for (Frame frame : frames) {
    frame.picture.width = width;
    frame.picture.height = height;
    pictures.push_back(with_caption(frame));
  }
  return pictures;
}

}  // namespace

std::string player_html(std::string_view of_what, std::span<const Frame> frames) {
  const std::string label = label_attribute(of_what);
  std::string html = fmt::format(
      "<div class=\"player\" data-milliseconds=\"{}\">\n<div class=\"controls\" hidden><button type=\"button\">Play"
      "</button><input type=\"range\" min=\"0\" max=\"{}\" value=\"{}\" aria-label=\"{}\"><output></output></div>\n",
      kFrameMilliseconds, frames.size() - 1, frames.size() - 1, label);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    html += fmt::format("<div class=\"shot\" data-caption=\"{}\"{}>{}</div>\n", label_attribute(frames[i].caption),
                        i + 1 < frames.size() ? " hidden" : "", svg_in_full(frames[i].picture));
  }
  return html + "</div>\n";
}

std::string_view player_style() { return page_file("player.css"); }
std::string_view player_script() { return page_file("player.js"); }

std::string animated_png(std::span<const Frame> frames, double scale) {
  std::vector<Raster> rasters;
  for (const SvgPicture& picture : of_one_size(frames)) rasters.push_back(rasterised(svg_file(picture), scale));
  return png_of(rasters, kFrameMilliseconds);
}

SvgPicture film_strip(std::string title, std::span<const Frame> frames, std::size_t columns, std::size_t most) {
  check(most >= 2, "film_strip: most is {}, needs at least 2", most);
  const std::size_t count = std::min(frames.size(), most);
  std::vector<Frame> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(frames[count == 1 ? 0 : i * (frames.size() - 1) / (count - 1)]);
  }
  return arranged(std::move(title), of_one_size(chosen), columns);
}

}  // namespace edgewise
