// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/raster.h"

#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr double kMaxPixels = 1e8;

template <auto free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};

using Surface = std::unique_ptr<cairo_surface_t, Deleter<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Deleter<cairo_destroy>>;
using Handle = std::unique_ptr<RsvgHandle, Deleter<g_object_unref>>;

[[noreturn]] void fail_with(GError* error) {
  const std::string message = error != nullptr ? error->message : "no reason is known";
  g_clear_error(&error);
  fail("rasterise: the picture cannot be drawn: {}", message);
}

/// Throws Error if the system starts no thread: Pango needs one for its fonts, and GLib ends the process without it.
void require_thread() {
  check(try_start_thread([] {}).has_value(),
        "rasterise: the system refuses to start a thread, needs one for drawing text; {}", kRaiseProcessLimit);
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

}  // namespace

Raster rasterise(std::string_view svg, double scale) {
  require_thread();
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

}  // namespace edgewise
