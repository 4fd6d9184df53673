// SPDX-License-Identifier: Apache-2.0
// The functions import_model and export_model.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "bindings.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/translate/model_paths.h"
#include "model_paths.h"
#include "texts.h"

namespace edgewise::python {
namespace {

using namespace nb::literals;

Overwrite overwrite_of(bool is_allowed) { return is_allowed ? Overwrite::kYes : Overwrite::kNo; }

std::string import_from(nb::handle source, nb::handle destination, bool overwrite) {
  constexpr std::string_view kCaller = "import_model";
  const std::filesystem::path from = read_path(source, kCaller, "source");
  const std::filesystem::path to = read_path(destination, kCaller, "destination");
  const nb::gil_scoped_release release;
  check_output_directory(to, std::array{from}, overwrite_of(overwrite), kCaller);
  const ImportedModel model = import_model(from, kCaller);
  write_model(model, to, kCaller);
  return model.origin;
}

ExportFormat read_format(const std::string& name) {
  if (const auto format = find_enum<ExportFormat>(name)) return *format;
  fail("export_model: format is {}, needs \"ctranslate2\", \"huggingface\" or \"marian\"", quote(name));
}

std::vector<std::string> export_to(nb::handle model, nb::handle destination, const std::string& format,
                                   bool overwrite) {
  constexpr std::string_view kCaller = "export_model";
  const std::vector<std::string> paths = read_model_paths(model, kCaller);
  check(paths.size() == 1, "export_model: model is a list of {} models, needs one model", paths.size());
  const std::filesystem::path to = read_path(destination, kCaller, "destination");
  const ExportFormat chosen = read_format(format);
  const nb::gil_scoped_release release;
  check_output_directory(to, std::array{std::filesystem::path(paths.front())}, overwrite_of(overwrite), kCaller);
  const ModelFiles files = read_model_files(paths.front(), kCaller);
  export_model(files, chosen, to, kCaller);
  return left_out_options(files, chosen);
}

}  // namespace

void bind_models(nb::module_& module) {
  module.def("_set_models_folder", &set_models_folder);
  module.def(
      "import_model", &import_from, "source"_a.none(), "destination"_a.none(), nb::kw_only(), "overwrite"_a = false,
      "Converts a model of Hugging Face's transformers (MarianMT, M2M-100, NLLB-200), Marian or CTranslate2 into a\n"
      "model directory, and returns a description of the source.\n\n"
      "overwrite: whether to replace a directory that exists");
  module.def("export_model", &export_to, "model"_a.none(), "destination"_a.none(), nb::kw_only(),
             "format"_a = "huggingface", "overwrite"_a = false,
             "Writes a model for another system, and returns the options that the files leave out, as settings.\n\n"
             "format: \"ctranslate2\", \"huggingface\" or \"marian\"\n"
             "overwrite: whether to replace a directory that exists");
}

}  // namespace edgewise::python
