// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/animation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

constexpr double kCaptionHeight = 22;
constexpr std::int64_t kFrameMilliseconds = 500;

/// Gives all frames the greatest width and height, and adds their captions.
std::vector<SvgPicture> equalise_sizes(std::span<const AnimationFrame> frames) {
  std::vector<SvgPicture> pictures;
  double width = 0;
  double height = 0;
  for (const AnimationFrame& frame : frames) {
    width = std::max(width, frame.picture.width);
    height = std::max(height, frame.picture.height);
  }
  for (const AnimationFrame& frame : frames) {
    SvgPicture& picture = pictures.emplace_back(frame.picture);
    picture.body += svg_text(width / 2, height + 14, frame.caption, "text-anchor=\"middle\"");
    picture.width = width;
    picture.height = height + kCaptionHeight;
  }
  return pictures;
}

}  // namespace

std::string player_html(std::string_view label, std::span<const AnimationFrame> frames) {
  check(!frames.empty(), "player_html: frames is empty, needs at least one");
  std::string html = fmt::format(
      "<div class=\"player\" data-milliseconds=\"{}\">\n<div class=\"controls\" hidden><button type=\"button\">Play"
      "</button><input type=\"range\" min=\"0\" max=\"{}\" value=\"{}\" aria-label=\"{}\"><output></output></div>\n",
      kFrameMilliseconds, frames.size() - 1, frames.size() - 1, label_html(label));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    html += fmt::format("<div class=\"shot\" data-caption=\"{}\"{}>{}</div>\n", label_html(frames[i].caption),
                        i + 1 < frames.size() ? " hidden" : "", svg_at_full_size(frames[i].picture));
  }
  return html + "</div>\n";
}

std::string animated_png(std::span<const AnimationFrame> frames, double scale) {
  std::vector<Raster> rasters;
  for (const SvgPicture& picture : equalise_sizes(frames)) rasters.push_back(rasterise(svg_file(picture), scale));
  return encode_png(rasters, kFrameMilliseconds);
}

SvgPicture draw_film_strip(std::string title, std::span<const AnimationFrame> frames, std::size_t columns,
                           std::size_t max_frames) {
  check(max_frames >= 2, "draw_film_strip: max_frames is {}, needs at least 2", max_frames);
  const std::size_t count = std::min(frames.size(), max_frames);
  std::vector<AnimationFrame> selected;
  for (std::size_t i = 0; i < count; ++i) {
    selected.push_back(frames[count == 1 ? 0 : i * (frames.size() - 1) / (count - 1)]);
  }
  return arrange_pictures(std::move(title), equalise_sizes(selected), columns);
}

}  // namespace edgewise
