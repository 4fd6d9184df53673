// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace edgewise::python {

/// Reads the models of a translator: a directory, the name of a model in the package's folder of models, or an iterable
/// of both. An existing directory comes before a name. Throws Error for a name of neither.
std::vector<std::string> read_model_paths(nanobind::handle models, std::string_view caller);

/// Sets the folder of models of the package.
void set_models_folder(const std::string& path);

}  // namespace edgewise::python
