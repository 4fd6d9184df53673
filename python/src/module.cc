// SPDX-License-Identifier: Apache-2.0
// The extension module edgewise._edgewise.
#include <nanobind/nanobind.h>

#include "bindings.h"
#include "edgewise/base/version.h"
#include "process_end.h"
#include "texts.h"

NB_MODULE(_edgewise, module) {
  using namespace edgewise::python;
  // A translator in a global variable lives until the end of the process, which is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = make_text(edgewise::version());
  bind_process_end();
  bind_errors(module);
  bind_results(module);
  bind_streams(module);
  bind_translator(module);
  bind_generator(module);
  bind_scores(module);
  bind_models(module);
}
