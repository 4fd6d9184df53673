// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/viz/svg.h"

namespace edgewise {

/// One picture of an animation.
struct AnimationFrame {
  std::string caption;  // "step 200, epoch 2"
  SvgPicture picture;
};

/// Returns a player for an HTML page: a play button, a slider named `label`, and the selected frame, which is the last
/// frame at first. The page needs page_file("player.css") and page_file("player.js"); without the script it displays
/// the last frame.
std::string player_html(std::string_view label, std::span<const AnimationFrame> frames);

/// Returns an animated PNG with each caption below its frame; `scale` is in pixels per SVG unit.
std::string animated_png(std::span<const AnimationFrame> frames, double scale = 1.5);

/// Arranges the frames and their captions in rows of `columns`, for print. If there are more than `max_frames` frames,
/// the function draws `max_frames`, which is at least 2, evenly spaced frames, including the first and the last.
SvgPicture draw_film_strip(std::string title, std::span<const AnimationFrame> frames, std::size_t columns,
                           std::size_t max_frames);

}  // namespace edgewise
