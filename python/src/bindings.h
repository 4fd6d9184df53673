// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace edgewise::python {

namespace nb = nanobind;

// Each function adds classes or functions to the extension module.

void bind_errors(nb::module_& module);
void bind_results(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_translator(nb::module_& module);
void bind_generator(nb::module_& module);
void bind_scores(nb::module_& module);
void bind_models(nb::module_& module);

}  // namespace edgewise::python
