// SPDX-License-Identifier: Apache-2.0
#include "model_paths.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "texts.h"

namespace edgewise::python {
namespace {

std::filesystem::path& models_folder() {
  static std::filesystem::path folder;
  return folder;
}

bool is_present(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// Lists the models of the package.
std::vector<std::string> list_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), error)) {
    if (is_present(entry.path() / "manifest.json")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string find_model_path(const std::filesystem::path& model, std::string_view caller) {
  const bool is_name = !model.has_parent_path() && model != "." && model != "..";
  if (is_present(model) || !is_name) return model.string();
  if (const std::filesystem::path packaged = models_folder() / model; is_present(packaged)) return packaged.string();
  const std::vector<std::string> names = list_names();
  const std::string has = names.empty() ? "which has no models" : fmt::format("which has {}", fmt::join(names, ", "));
  fail("{}: model is {}, needs a run or model directory, or the name of a model of the package, {}", caller,
       quote(model.string()), has);
}

}  // namespace

std::vector<std::string> read_model_paths(nb::handle models, std::string_view caller) {
  if (is_path(models)) return {find_model_path(read_path(models, caller, "model"), caller)};
  if (PyObject_HasAttrString(models.ptr(), "__iter__") == 0 || PyBytes_Check(models.ptr()) != 0) {
    fail_type(caller, "model", models, "a str, a path or a list of them");
  }
  std::vector<std::string> paths;
  for (const nb::handle model : nb::iter(models)) {
    paths.push_back(find_model_path(read_path(model, caller, fmt::format("model[{}]", paths.size())), caller));
  }
  check(!paths.empty(), "{}: model is an empty list, needs at least one model", caller);
  return paths;
}

void set_models_folder(const std::string& path) { models_folder() = path; }

}  // namespace edgewise::python
