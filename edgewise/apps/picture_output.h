// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

/// A picture in the forms that it has; the one that is asked for is made.
struct PictureForms {
  std::function<std::string()> html;      // a page that needs nothing else
  std::function<std::string()> svg;       // a drawing, for print
  std::function<std::string()> json;      // the numbers behind it
  std::function<std::string()> png = {};  // in pixels, animated where something moves; none: the drawing
};

/// -o, --out: the file of a picture, whose ending says the form.
void add_picture_output(CLI::App& command, std::string& file);

/// Throws Error, in the name of `caller`, for an ending that no form has: before work is done that would be lost.
void check_picture_output(const std::string& file, std::string_view caller);

/// A PNG of a standalone SVG.
std::string in_pixels(const std::string& svg);

/// Makes the form that the file's ending names and writes it, whole or not at all.
void write_picture(const std::string& file, const PictureForms& forms, std::string_view caller);

}  // namespace edgewise
