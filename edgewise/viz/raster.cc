// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/raster.h"

#include <librsvg/rsvg.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr double kMaxPixels = 1e8;

template <auto free>
struct Deleter {
  void operator()(auto* object) const { free(object); }
};

using Surface = std::unique_ptr<cairo_surface_t, Deleter<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Deleter<cairo_destroy>>;
using Handle = std::unique_ptr<RsvgHandle, Deleter<g_object_unref>>;

[[noreturn]] void fail_with(GError* error) {
  const std::string message = error != nullptr ? error->message : "no reason is known";
  g_clear_error(&error);
  fail("rasterise: the picture cannot be drawn: {}", message);
}

Handle parse(std::string_view svg) {
  GError* error = nullptr;
  Handle handle(rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error));
  if (handle == nullptr) fail_with(error);
  return handle;
}

/// Copies the pixels of a Cairo surface, where each pixel is a 32-bit number with blue in the lowest byte.
Raster copy_pixels(cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  Raster raster = {
      .width = cairo_image_surface_get_width(surface), .height = cairo_image_surface_get_height(surface), .pixels = {}};
  const unsigned char* bytes = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  raster.pixels.reserve(static_cast<std::size_t>(3 * raster.width * raster.height));
  for (std::int64_t y = 0; y < raster.height; ++y) {
    for (std::int64_t x = 0; x < raster.width; ++x) {
      std::uint32_t pixel = 0;
      __builtin_memcpy(&pixel, bytes + y * stride + 4 * x, sizeof(pixel));
      for (const int shift : {16, 8, 0}) raster.pixels.push_back(static_cast<std::uint8_t>(pixel >> shift));
    }
  }
  return raster;
}

// PNG files as its specification (third edition, which includes animation) describes them.

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr char kEightBits = 8;
constexpr char kTruecolour = 2;

/// A rectangle of a frame, in pixels.
struct Box {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Returns `bytes` bytes of a number, highest byte first.
std::string big_endian(std::uint64_t value, int bytes = 4) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

std::string make_chunk(const std::string& type, const std::string& data) {
  const std::string content = type + data;
  return big_endian(data.size()) + content +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
}

std::string compress_bytes(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int error =
      compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  check(error == Z_OK, "encode_png: zlib returned error {}, needs memory", error);
  result.resize(size);
  return result;
}

const std::uint8_t* pixel_at(const Raster& frame, std::int64_t x, std::int64_t y) {
  return frame.pixels.data() + 3 * (y * frame.width + x);
}

/// Compresses the pixels without a PNG filter, which gives the smallest files for pictures of uniform areas.
std::string compress_image(const Raster& frame, const Box& box) {
  std::string rows;
  for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(pixel_at(frame, box.left, y)), static_cast<std::size_t>(3 * box.width));
  }
  return compress_bytes(rows);
}

/// Returns the smallest rectangle that contains all changed pixels, or one pixel if none changed, because a frame of an
/// animation must not be empty.
Box find_changed_box(const Raster& before, const Raster& now) {
  std::int64_t left = now.width;
  std::int64_t right = 0;
  std::int64_t top = now.height;
  std::int64_t bottom = 0;
  for (std::int64_t y = 0; y < now.height; ++y) {
    for (std::int64_t x = 0; x < now.width; ++x) {
      if (std::equal(pixel_at(now, x, y), pixel_at(now, x, y) + 3, pixel_at(before, x, y))) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  if (right == 0) return {.left = 0, .top = 0, .width = 1, .height = 1};
  return {.left = left, .top = top, .width = right - left, .height = bottom - top};
}

std::string make_header(const Raster& frame) {
  std::string data =
      big_endian(static_cast<std::uint64_t>(frame.width)) + big_endian(static_cast<std::uint64_t>(frame.height));
  data += {kEightBits, kTruecolour, 0, 0, 0};  // compression method, filter method, no interlacing
  return make_chunk("IHDR", data);
}

std::string make_frame_control(std::uint64_t sequence, const Box& box, std::int64_t milliseconds) {
  std::string data = big_endian(sequence);
  for (const std::int64_t value : {box.width, box.height, box.left, box.top}) {
    data += big_endian(static_cast<std::uint64_t>(value));
  }
  data += big_endian(static_cast<std::uint64_t>(milliseconds), 2) + big_endian(1000, 2);  // in units of 1/1000 second
  data += {0, 0};  // the next frame replaces only the pixels of its box
  return make_chunk("fcTL", data);
}

}  // namespace

Raster rasterise(std::string_view svg, double scale) {
  // Pango needs a thread for its fonts, and GLib ends the process without it.
  check(try_start_thread([] {}).has_value(),
        "rasterise: the system refuses to start a thread, needs one for drawing text; {}", kRaiseProcessLimit);
  const Handle handle = parse(svg);
  double width = 0;
  double height = 0;
  check(rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) != 0,
        "rasterise: the picture has no size in pixels, needs one");
  width = std::ceil(width * scale);
  height = std::ceil(height * scale);
  check(width >= 1 && height >= 1 && width * height <= kMaxPixels,
        "rasterise: the picture is {:.0f} by {:.0f} pixels, needs at least one and at most {:.0f} in all", width,
        height, kMaxPixels);

  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
  const Context context(cairo_create(surface.get()));
  cairo_set_source_rgb(context.get(), 1, 1, 1);
  cairo_paint(context.get());
  const RsvgRectangle whole = {.x = 0, .y = 0, .width = width, .height = height};
  GError* error = nullptr;
  if (rsvg_handle_render_document(handle.get(), context.get(), &whole, &error) == 0) fail_with(error);
  check(cairo_status(context.get()) == CAIRO_STATUS_SUCCESS, "rasterise: the picture cannot be drawn: {}",
        cairo_status_to_string(cairo_status(context.get())));
  return copy_pixels(surface.get());
}

std::string encode_png(std::span<const Raster> frames, std::int64_t milliseconds) {
  check(!frames.empty(), "encode_png: frames is empty, needs at least one");
  check(milliseconds >= 0 && milliseconds < 65536, "encode_png: milliseconds is {}, needs 0 to 65535", milliseconds);
  const Raster& first = frames.front();
  for (const Raster& frame : frames) {
    check(frame.width == first.width && frame.height == first.height,
          "encode_png: a frame is {} by {} pixels, needs {} by {} as the first", frame.width, frame.height, first.width,
          first.height);
  }
  const Box whole = {.left = 0, .top = 0, .width = first.width, .height = first.height};
  std::string png = std::string(kSignature) + make_header(first);
  const bool is_animated = frames.size() > 1;
  std::uint64_t sequence = 0;
  if (is_animated) {
    png += make_chunk("acTL", big_endian(frames.size()) + big_endian(0));  // repeats without end
    png += make_frame_control(sequence++, whole, milliseconds);
  }
  png += make_chunk("IDAT", compress_image(first, whole));
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const Box box = find_changed_box(frames[i - 1], frames[i]);
    png += make_frame_control(sequence++, box, milliseconds);
    png += make_chunk("fdAT", big_endian(sequence++) + compress_image(frames[i], box));
  }
  return png + make_chunk("IEND", "");
}

}  // namespace edgewise
