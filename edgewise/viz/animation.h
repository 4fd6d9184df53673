// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// One moment of something that goes on.
struct Frame {
  std::string caption;  // what moment it is: "step 200, epoch 2"
  SvgPicture picture;
};

inline constexpr std::int64_t kFrameMilliseconds = 500;

/// For a page: a slider, a button that plays, and the frame that is chosen, the last at first. The page needs
/// player_style() and player_script(); without a script it shows the last frame.
std::string player_html(std::string_view of_what, std::span<const Frame> frames);
std::string_view player_style();
std::string_view player_script();

/// An animated PNG, each frame with its caption below.
std::string animated_png(std::span<const Frame> frames, double scale = 1.5);

/// All frames in one drawing, each with its caption, for print. Where there are more than `most`, as many of them,
/// evenly spread, the first and the last among them.
SvgPicture film_strip(std::string title, std::span<const Frame> frames, std::size_t columns, std::size_t most);

}  // namespace edgewise
