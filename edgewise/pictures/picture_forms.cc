// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

using Form = std::function<std::string()> PictureForms::*;

Form form_of(const std::string& file, std::string_view caller) {
  if (file.ends_with(".html")) return &PictureForms::html;
  if (file.ends_with(".svg")) return &PictureForms::svg;
  if (file.ends_with(".json")) return &PictureForms::json;
  if (file.ends_with(".png")) return &PictureForms::png;
  fail("{}: --out is {}, needs a name that ends with .html, .svg, .json or .png", caller, quote(file));
}

}  // namespace

std::string png_from_svg(const std::string& svg) {
  constexpr double kScale = 2;  // pixels per unit of the SVG, for high-resolution screens
  const Raster raster = rasterise(svg, kScale);
  return encode_png(std::span(&raster, 1));
}

void write_picture(const std::string& file, std::string_view caller, const std::function<PictureForms()>& draw) {
  const Form form = form_of(file, caller);
  AtomicFile output(file, caller);
  const PictureForms forms = draw();
  const bool is_rasterised = form == &PictureForms::png && !forms.png;
  output.write(is_rasterised ? png_from_svg(forms.svg()) : (forms.*form)());
  output.commit();
}

}  // namespace edgewise
