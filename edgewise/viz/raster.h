// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// Pixels, row by row, three bytes each: red, green, blue.
struct Raster {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;
};

/// A standalone SVG on white, `scale` pixels for each of its units. Letters come from the fonts of the machine. Throws
/// Error for what is no SVG and for one of more than 100 million pixels.
Raster rasterised(std::string_view svg, double scale = 1.0);

/// A PNG of one frame; of several, which are of one size, an animated PNG that begins anew after the last, each shown
/// so long. Whoever knows no animation shows the first.
std::string png_of(std::span<const Raster> frames, std::int64_t milliseconds = 500);

}  // namespace edgewise
