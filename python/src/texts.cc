// SPDX-License-Identifier: Apache-2.0
#include "texts.h"

#include <fmt/format.h>

#include <optional>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise::python {
namespace {

constexpr std::size_t kMaxShownBytes = 60;

/// Returns the UTF-8 of a str; nothing for surrogates, which UTF-8 cannot represent.
std::optional<std::string> utf8_of(nb::handle value) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string(bytes, static_cast<std::size_t>(size));
}

bool is_bytes(nb::handle value) { return PyBytes_Check(value.ptr()) != 0 || PyByteArray_Check(value.ptr()) != 0; }

}  // namespace

std::string describe(nb::handle value) {
  const nb::object text = nb::steal(PyObject_Repr(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return printable(utf8_of(text).value_or("a value that cannot be printed"), kMaxShownBytes);
}

void fail_type(std::string_view caller, std::string_view name, nb::handle value, std::string_view needs) {
  throw nb::type_error(fmt::format("{}: {} is {}, needs {}", caller, name, describe(value), needs).c_str());
}

std::string read_text(nb::handle value, std::string_view caller, std::string_view name) {
  if (!nb::isinstance<nb::str>(value)) fail_type(caller, name, value, "a str");
  auto text = utf8_of(value);
  check(text.has_value(), "{}: {} has a lone surrogate, needs text that UTF-8 can represent", caller, name);
  return *std::move(text);
}

nb::iterator iterate_texts(nb::handle value, std::string_view caller, std::string_view name) {
  const bool is_text = nb::isinstance<nb::str>(value);
  if (is_text || is_bytes(value)) fail_type(caller, name, value, "an iterable of str");
  PyObject* iterator = PyObject_GetIter(value.ptr());
  if (iterator == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    fail_type(caller, name, value, "an iterable of str");
  }
  return nb::steal<nb::iterator>(iterator);
}

std::string read_element(nb::handle value, std::string_view caller, std::string_view name, std::size_t index) {
  // The name is made for errors only: a long list would spend more time in formatting than in reading.
  if (nb::isinstance<nb::str>(value)) {
    if (auto text = utf8_of(value)) return *std::move(text);
  }
  return read_text(value, caller, fmt::format("{}[{}]", name, index));
}

std::vector<std::string> read_text_list(nb::handle value, std::string_view caller, std::string_view name) {
  const nb::iterator iterator = iterate_texts(value, caller, name);
  std::vector<std::string> texts;
  while (PyObject* element = PyIter_Next(iterator.ptr())) {
    texts.push_back(read_element(nb::steal(element), caller, name, texts.size()));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return texts;
}

Texts read_texts(nb::handle value, std::string_view caller, std::string_view name) {
  if (nb::isinstance<nb::str>(value)) return {{read_text(value, caller, name)}, true};
  if (is_bytes(value)) fail_type(caller, name, value, "a str or an iterable of str");
  if (PyObject_HasAttrString(value.ptr(), "__iter__") == 0) {
    fail_type(caller, name, value, "a str or an iterable of str");
  }
  return {read_text_list(value, caller, name), false};
}

bool is_path(nb::handle value) {
  return nb::isinstance<nb::str>(value) || PyObject_HasAttrString(value.ptr(), "__fspath__") != 0;
}

std::filesystem::path read_path(nb::handle value, std::string_view caller, std::string_view name) {
  if (!is_path(value)) fail_type(caller, name, value, "a str or a path");
  const nb::object encoded = nb::module_::import_("os").attr("fsencode")(value);
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(encoded.ptr(), &bytes, &size) != 0) throw nb::python_error();
  check(size > 0, "{}: {} is empty, needs the name of a file or directory", caller, name);
  std::string path(bytes, static_cast<std::size_t>(size));
  check(path.find('\0') == std::string::npos, "{}: {} is {}, needs a name without a zero byte", caller, name,
        quote(path));
  return path;
}

nb::object make_text(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::list make_text_list(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(make_text(text));
  return list;
}

}  // namespace edgewise::python
