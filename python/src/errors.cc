// SPDX-License-Identifier: Apache-2.0
// The exception Error.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "bindings.h"
#include "edgewise/base/error.h"
#include "edgewise/base/stop_request.h"

namespace edgewise::python {
namespace {

/// Turns failures of the system, and a search that was stopped, into exceptions of Python. `error_class` is Error.
void translate_failure(const std::exception_ptr& failure, void* error_class) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string text = fmt::format("edgewise: {}: {}", error.path1().string(), error.code().message());
    PyErr_SetString(static_cast<PyObject*>(error_class), text.c_str());
  } catch (const std::system_error& error) {
    const std::string text = fmt::format(
        "edgewise: the system refused threads or other resources: {}; raise its limit of processes (ulimit -u), or use "
        "fewer threads and workers",
        error.code().message());
    PyErr_SetString(static_cast<PyObject*>(error_class), text.c_str());
  } catch (const StopException& stop) {
    PyErr_SetString(PyExc_KeyboardInterrupt, stop.what());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  const nb::exception<Error> error(module, "Error", PyExc_ValueError);
  error.attr("__doc__") =
      "An unusable argument, file or setting. The message says what the argument has and what it needs.";
  nb::register_exception_translator(translate_failure, error.ptr());
}

}  // namespace edgewise::python
