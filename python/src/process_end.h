// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "edgewise/translate/translation_service.h"

// The end of a process in which daemon threads of Python translate. Such threads do not end with Python, and may not
// run while the process destroys its objects.

namespace edgewise::python {

/// Adds a service whose threads end when Python ends. Call it with the GIL.
void stop_at_end(const std::shared_ptr<TranslationService>& service);

/// Returns whether Python has ended all services.
bool is_process_ending();

/// Lets a daemon thread wait for the end of the process. It must not hold the GIL.
[[noreturn]] void wait_for_process_end();

/// Registers the function that ends the services.
void bind_process_end();

}  // namespace edgewise::python
