// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Reads arguments of Python, and makes Python strings. All functions need the GIL. Errors have the house form; a value
// of a wrong type is a TypeError.

namespace edgewise::python {

namespace nb = nanobind;

/// Throws TypeError: "<caller>: <name> is <value>, needs <needs>".
[[noreturn]] void fail_type(std::string_view caller, std::string_view name, nb::handle value, std::string_view needs);

/// Returns the repr of a value, cut after about 60 bytes.
std::string describe(nb::handle value);

/// Reads a str. Throws Error for a str that UTF-8 cannot represent.
std::string read_text(nb::handle value, std::string_view caller, std::string_view name);

/// One text, or the texts of an iterable.
struct Texts {
  std::vector<std::string> texts;
  bool is_one = false;
};

/// Reads a str or an iterable of str. Throws TypeError for bytes, which are an iterable of numbers.
Texts read_texts(nb::handle value, std::string_view caller, std::string_view name);

/// Reads an iterable of str that is not itself a str.
std::vector<std::string> read_text_list(nb::handle value, std::string_view caller, std::string_view name);

/// Reads element `index` of an iterable of str.
std::string read_element(nb::handle value, std::string_view caller, std::string_view name, std::size_t index);

/// Returns an iterator over the elements. Throws TypeError for a str, for bytes and for what is not iterable.
nb::iterator iterate_texts(nb::handle value, std::string_view caller, std::string_view name);

/// Reads a str or an object with __fspath__. Throws Error for an empty path.
std::filesystem::path read_path(nb::handle value, std::string_view caller, std::string_view name);

/// Returns whether a value is a str or has __fspath__.
bool is_path(nb::handle value);

/// Returns a str in which each byte that is not UTF-8 is U+FFFD.
nb::object make_text(std::string_view text);

/// Returns a list of make_text of each text.
nb::list make_text_list(const std::vector<std::string>& texts);

}  // namespace edgewise::python
