// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/animation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "edgewise/viz/raster.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::HasSubstr;

struct Chunk {
  std::string type;
  std::string data;
};

std::uint32_t number_at(const std::string& bytes, std::size_t offset, int size = 4) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[offset + static_cast<std::size_t>(i)]);
  return value;
}

/// Checks the signature and each chunk's checksum.
std::vector<Chunk> chunks_of(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::vector<Chunk> chunks;
  for (std::size_t at = 8; at < png.size();) {
    const std::uint32_t size = number_at(png, at);
    const std::string checked = png.substr(at + 4, size + 4);
    EXPECT_EQ(number_at(png, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
    chunks.push_back({checked.substr(0, 4), checked.substr(4)});
    at += 12 + size;
  }
  return chunks;
}

/// Renders a PNG as a viewer does. Returns the canvas after each frame.
std::vector<Raster> render_frames(const std::string& png) {
  std::vector<Raster> canvases;
  Raster canvas;
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  const auto draw = [&](const std::string& data) {
    std::string rows(height * (1 + 3 * width), '\0');
    uLongf size = rows.size();
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                         static_cast<uLong>(data.size())),
              Z_OK);
    EXPECT_EQ(size, rows.size());
    for (std::uint32_t y = 0; y < height; ++y) {
      const std::size_t row = y * (1 + 3 * width);
      EXPECT_EQ(rows[row], 0) << "filter type";
      for (std::uint32_t i = 0; i < 3 * width; ++i) {
        canvas.pixels[3 * ((top + y) * static_cast<std::size_t>(canvas.width) + left) + i] =
            static_cast<std::uint8_t>(rows[row + 1 + i]);
      }
    }
    canvases.push_back(canvas);
  };
  std::uint32_t sequence = 0;
  for (const Chunk& chunk : chunks_of(png)) {
    if (chunk.type == "IHDR") {
      width = number_at(chunk.data, 0);
      height = number_at(chunk.data, 4);
      canvas = {.width = width, .height = height, .pixels = std::vector<std::uint8_t>(std::size_t{3} * width * height)};
    } else if (chunk.type == "fcTL") {
      EXPECT_EQ(number_at(chunk.data, 0), sequence++);
      width = number_at(chunk.data, 4);
      height = number_at(chunk.data, 8);
      left = number_at(chunk.data, 12);
      top = number_at(chunk.data, 16);
      EXPECT_EQ(1000 * number_at(chunk.data, 20, 2) / number_at(chunk.data, 22, 2), 500U) << "milliseconds";
    } else if (chunk.type == "IDAT") {
      draw(chunk.data);
    } else if (chunk.type == "fdAT") {
      EXPECT_EQ(number_at(chunk.data, 0), sequence++);
      draw(chunk.data.substr(4));
    } else if (chunk.type == "acTL") {
      EXPECT_EQ(number_at(chunk.data, 4), 0U) << "repeats without end";
    }
  }
  return canvases;
}

Raster make_raster(std::int64_t width, std::int64_t height, std::uint8_t grey) {
  return {.width = width,
          .height = height,
          .pixels = std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), grey)};
}

TEST(Png, EncodesAllPixels) {
  Raster raster = make_raster(5, 3, 7);
  raster.pixels[4] = 200;
  const std::string png = encode_png(std::span(&raster, 1));
  ASSERT_EQ(render_frames(png).size(), 1U);
  EXPECT_EQ(render_frames(png)[0].pixels, raster.pixels);
  EXPECT_THAT(png, testing::Not(HasSubstr("acTL"))) << "a single frame is not animated";
}

TEST(Png, RestoresEachFrameFromTheRectangleThatChanges) {
  std::vector<Raster> frames(4, make_raster(9, 6, 255));
  frames[1].pixels[3 * (2 * 9 + 4)] = 0;
  frames[2] = frames[1];  // nothing changes
  frames[3] = make_raster(9, 6, 10);
  const std::vector<Raster> canvases = render_frames(encode_png(frames));
  ASSERT_EQ(canvases.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(canvases[i].pixels, frames[i].pixels) << i;
}

TEST(Png, RejectsNoFramesAndFramesOfDifferentSizes) {
  EXPECT_EQ(error_of([] { encode_png({}); }), "encode_png: frames is empty, needs at least one");
  const std::vector<Raster> uneven = {make_raster(2, 2, 0), make_raster(3, 2, 0)};
  EXPECT_EQ(error_of([&] { encode_png(uneven); }), "encode_png: a frame is 3 by 2 pixels, needs 2 by 2 as the first");
}

SvgPicture square(const char* colour) {
  return {.width = 8,
          .height = 8,
          .title = "square",
          .body = std::string("<rect width=\"4\" height=\"8\" fill=\"") + colour + "\"/>"};
}

TEST(Raster, RendersTheDrawingOnWhite) {
  const Raster raster = rasterise(svg_file(square("#1020ff")), 2);
  ASSERT_EQ(raster.width, 16);
  ASSERT_EQ(raster.height, 16);
  const std::vector<std::uint8_t> left(raster.pixels.begin(), raster.pixels.begin() + 3);
  const std::vector<std::uint8_t> right(raster.pixels.end() - 3, raster.pixels.end());
  EXPECT_THAT(left, testing::ElementsAre(0x10, 0x20, 0xff));
  EXPECT_THAT(right, testing::ElementsAre(255, 255, 255));
}

TEST(Raster, RejectsInvalidSvgAndTooManyPixels) {
  EXPECT_THAT(error_of([] { rasterise("<svg"); }), HasSubstr("rasterise: the picture cannot be drawn: "));
  EXPECT_EQ(error_of([] { rasterise(svg_file(square("red")), 10'000); }),
            "rasterise: the picture is 80000 by 80000 pixels, needs at least one and at most 100000000 in all");
}

TEST(Animation, HasAllFramesWithTheirCaptions) {
  std::vector<AnimationFrame> frames = {{"step 1", square("#000000")}, {"step 2", square("#ff0000")}};
  frames[1].picture.width = 20;  // all frames get the size of the largest
  const std::vector<Raster> canvases = render_frames(animated_png(frames, 1));
  ASSERT_EQ(canvases.size(), 2U);
  EXPECT_EQ(canvases[0].width, 20);
  EXPECT_NE(canvases[0].pixels, canvases[1].pixels);

  const std::string html = player_html("a & b", frames);
  EXPECT_THAT(html, HasSubstr("max=\"1\" value=\"1\" aria-label=\"a &amp; b\""));
  EXPECT_THAT(html, HasSubstr("data-caption=\"step 1\" hidden>"));
  EXPECT_THAT(html, HasSubstr("data-caption=\"step 2\">")) << "without a script the page displays the last frame";
}

TEST(Animation, NeedsAFrame) {
  EXPECT_EQ(error_of([] { player_html("a", {}); }), "player_html: frames is empty, needs at least one");
  EXPECT_EQ(draw_film_strip("strip", {}, 2, 4).body, "");
}

TEST(FilmStrip, HasTheFirstTheLastAndEvenlySpacedFrames) {
  std::vector<AnimationFrame> frames;
  for (int i = 0; i < 10; ++i) frames.push_back({"step " + std::to_string(i) + ".", square("red")});
  const std::string strip = draw_film_strip("strip", frames, 2, 4).body;
  for (const char* caption : {"step 0.", "step 3.", "step 6.", "step 9."}) EXPECT_THAT(strip, HasSubstr(caption));
  EXPECT_THAT(strip, testing::Not(HasSubstr("step 1.")));
}

}  // namespace
}  // namespace edgewise
