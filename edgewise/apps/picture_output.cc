// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/picture_output.h"

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

using Form = std::function<std::string()> PictureForms::*;

Form form_of(const std::string& file, std::string_view caller) {
  if (file.ends_with(".html")) return &PictureForms::html;
  if (file.ends_with(".svg")) return &PictureForms::svg;
  if (file.ends_with(".json")) return &PictureForms::json;
  fail("{}: --out is {}, needs a name that ends with .html, .svg or .json", caller, in_quotes(file));
}

}  // namespace

void add_picture_output(CLI::App& command, std::string& file) {
  command
      .add_option("-o,--out", file, "what to write, by its ending: .html, a page; .svg, a drawing; .json, the numbers")
      ->required();
}

void check_picture_output(const std::string& file, std::string_view caller) { form_of(file, caller); }

void write_picture(const std::string& file, const PictureForms& forms, std::string_view caller) {
  write_file_atomically(file, (forms.*form_of(file, caller))(), caller);
}

}  // namespace edgewise
