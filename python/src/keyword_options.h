// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/config/fields.h"

// Options of Python's keywords, by the listed fields of option structs (fields.h). All functions need the GIL.

namespace edgewise::python {

namespace nb = nanobind;

/// Sets each field whose name is a keyword. Throws TypeError for a keyword that is no field and for a value of a wrong
/// type, and Error for a number out of range and an unknown name. None is an optional without a value. `helper` is what
/// lists the options in the package; by default the caller.
void set_options(std::span<const Field> fields, const nb::kwargs& keywords, std::string_view caller,
                 std::string_view helper = {});

/// Returns the value of a field.
nb::object option_value(const Field& field);

/// Returns the type of a field as an annotation: "int | None", "Literal['fp32', 'bf16']".
std::string annotation_of(const Field& field);

/// Returns a line of help for each field: its name, meaning, values and, with `has_defaults`, its default.
std::string describe_options(std::span<const Field> fields, bool has_defaults);

}  // namespace edgewise::python
