// SPDX-License-Identifier: Apache-2.0
#include "model_paths.h"

#include <fmt/format.h>

#include "edgewise/base/error.h"
#include "edgewise/translate/model_paths.h"
#include "texts.h"

namespace edgewise::python {

std::vector<std::string> read_model_paths(nb::handle models, std::string_view caller) {
  if (is_path(models)) return {read_path(models, caller, "model").string()};
  if (PyObject_HasAttrString(models.ptr(), "__iter__") == 0 || PyBytes_Check(models.ptr()) != 0) {
    fail_type(caller, "model", models, "a str, a path or a list of them");
  }
  std::vector<std::string> paths;
  for (const nb::handle model : nb::iter(models)) {
    paths.push_back(read_path(model, caller, fmt::format("model[{}]", paths.size())).string());
  }
  check(!paths.empty(), "{}: model is an empty list, needs at least one model", caller);
  return paths;
}

void set_models_folder(const std::string& path) { set_program_model_folders({path}); }

}  // namespace edgewise::python
