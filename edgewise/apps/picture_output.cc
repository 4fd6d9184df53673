// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/picture_output.h"

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

using Form = std::function<std::string()> PictureForms::*;

Form form_of(const std::string& file, std::string_view caller) {
  if (file.ends_with(".html")) return &PictureForms::html;
  if (file.ends_with(".svg")) return &PictureForms::svg;
  if (file.ends_with(".json")) return &PictureForms::json;
  if (file.ends_with(".png")) return &PictureForms::png;
  fail("{}: --out is {}, needs a name that ends with .html, .svg, .json or .png", caller, in_quotes(file));
}

}  // namespace

void add_picture_output(CLI::App& command, std::string& file) {
  command
      .add_option("-o,--out", file,
                  "what to write, by its ending: .html, a page; .svg, a drawing; .png, it or what moves in pixels; "
                  ".json, the numbers")
      ->required();
}

void check_picture_output(const std::string& file, std::string_view caller) { form_of(file, caller); }

std::string in_pixels(const std::string& svg) {
  constexpr double kScale = 2;  // for screens of many pixels
  const Raster raster = rasterised(svg, kScale);
  return png_of(std::span(&raster, 1));
}

void write_picture(const std::string& file, const PictureForms& forms, std::string_view caller) {
  const Form form = form_of(file, caller);
  const bool is_drawn = form == &PictureForms::png && !forms.png;
  write_file_atomically(file, is_drawn ? in_pixels(forms.svg()) : (forms.*form)(), caller);
}

}  // namespace edgewise
