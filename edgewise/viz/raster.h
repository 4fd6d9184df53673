// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// An image in RGB. `pixels` is [height, width, 3], one byte per value.
struct Raster {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Renders a standalone SVG on white, with `scale` pixels per SVG unit and the installed fonts. Throws Error for text
/// that is not SVG and for an image of more than 100 million pixels.
Raster rasterise(std::string_view svg, double scale = 1.0);

/// Encodes one frame as PNG, or several frames of equal size as an animated PNG that repeats without end and displays
/// each frame for `milliseconds`, 0 to 65535. Viewers without animation display the first frame.
std::string encode_png(std::span<const Raster> frames, std::int64_t milliseconds = 500);

}  // namespace edgewise
