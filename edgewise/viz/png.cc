// SPDX-License-Identifier: Apache-2.0
// The PNG specification, third edition, which has animations too.
#include <zlib.h>

#include <algorithm>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr char kEightBits = 8;
constexpr char kTruecolour = 2;

/// A part of a frame.
struct Box {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// The highest byte first, as all numbers of PNG.
void append_number(std::string& to, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xFF);
}

std::string chunk(const std::string& type, const std::string& data) {
  std::string bytes;
  append_number(bytes, data.size(), 4);
  const std::string checked = type + data;
  bytes += checked;
  append_number(bytes, crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())), 4);
  return bytes;
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int error =
      compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  check(error == Z_OK, "png_of: zlib says {}, needs memory", error);
  result.resize(size);
  return result;
}

const std::uint8_t* pixel(const Raster& frame, std::int64_t x, std::int64_t y) {
  return frame.pixels.data() + 3 * (y * frame.width + x);
}

/// Without a filter: pictures of even areas are smallest so.
std::string image_data(const Raster& frame, const Box& box) {
  std::string rows;
  for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(pixel(frame, box.left, y)), static_cast<std::size_t>(3 * box.width));
  }
  return compressed(rows);
}

/// What differs; at least one pixel, since a frame cannot be empty.
Box difference(const Raster& before, const Raster& now) {
  std::int64_t left = now.width;
  std::int64_t right = 0;
  std::int64_t top = now.height;
  std::int64_t bottom = 0;
  for (std::int64_t y = 0; y < now.height; ++y) {
    for (std::int64_t x = 0; x < now.width; ++x) {
      if (std::equal(pixel(now, x, y), pixel(now, x, y) + 3, pixel(before, x, y))) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  if (right == 0) return {.left = 0, .top = 0, .width = 1, .height = 1};
  return {.left = left, .top = top, .width = right - left, .height = bottom - top};
}

std::string header(const Raster& frame) {
  std::string data;
  append_number(data, static_cast<std::uint64_t>(frame.width), 4);
  append_number(data, static_cast<std::uint64_t>(frame.height), 4);
  data += {kEightBits, kTruecolour, 0, 0, 0};  // the one way to compress and to filter; not interlaced
  return chunk("IHDR", data);
}

std::string animation_control(std::size_t frames) {
  std::string data;
  append_number(data, frames, 4);
  append_number(data, 0, 4);  // plays: without end
  return chunk("acTL", data);
}

std::string frame_control(std::uint64_t sequence, const Box& box, std::int64_t milliseconds) {
  std::string data;
  append_number(data, sequence, 4);
  for (const std::int64_t value : {box.width, box.height, box.left, box.top}) {
    append_number(data, static_cast<std::uint64_t>(value), 4);
  }
  append_number(data, static_cast<std::uint64_t>(milliseconds), 2);
  append_number(data, 1000, 2);
  data += {0, 0};  // the next frame is drawn over this one, and its pixels replace those below
  return chunk("fcTL", data);
}

std::string frame_data(std::uint64_t sequence, const std::string& image) {
  std::string data;
  append_number(data, sequence, 4);
  return chunk("fdAT", data + image);
}

}  // namespace

std::string png_of(std::span<const Raster> frames, std::int64_t milliseconds) {
  check(!frames.empty(), "png_of: frames is empty, needs at least one");
  check(milliseconds >= 0 && milliseconds < 65536, "png_of: milliseconds is {}, needs 0 to 65535", milliseconds);
  const Raster& first = frames.front();
  for (const Raster& frame : frames) {
    check(frame.width == first.width && frame.height == first.height,
          "png_of: a frame is {} by {} pixels, needs {} by {} as the first", frame.width, frame.height, first.width,
          first.height);
  }
  const Box whole = {.left = 0, .top = 0, .width = first.width, .height = first.height};
  std::string png = std::string(kSignature) + header(first);
  const bool is_animated = frames.size() > 1;
  std::uint64_t sequence = 0;
  if (is_animated) png += animation_control(frames.size()) + frame_control(sequence++, whole, milliseconds);
  png += chunk("IDAT", image_data(first, whole));
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const Box box = difference(frames[i - 1], frames[i]);
    png += frame_control(sequence++, box, milliseconds);
    png += frame_data(sequence++, image_data(frames[i], box));
  }
  return png + chunk("IEND", "");
}

}  // namespace edgewise
