// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace edgewise::python {

/// Reads the models of a translator: the path of a directory or the name of a model, which find_model looks up, or an
/// iterable of both.
std::vector<std::string> read_model_paths(nanobind::handle models, std::string_view caller);

/// Sets the folder of the package's models, which have names (translate/model_paths.h).
void set_models_folder(const std::string& path);

}  // namespace edgewise::python
