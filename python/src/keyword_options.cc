// SPDX-License-Identifier: Apache-2.0
#include "keyword_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "edgewise/base/config/field_text.h"
#include "edgewise/base/config/nearest_name.h"
#include "edgewise/base/error.h"
#include "texts.h"

namespace edgewise::python {
namespace {

/// Returns the field without the optional around its value, whose requirement is text for config files.
Field without_optional(const Field& field) {
  const FieldValue plain = std::visit(
      []<class Value>(const Value& value) -> FieldValue {
        if constexpr (std::is_same_v<Value, std::optional<double>*>) return static_cast<double*>(nullptr);
        if constexpr (std::is_same_v<Value, std::optional<std::int64_t>*>) return static_cast<std::int64_t*>(nullptr);
        if constexpr (std::is_same_v<Value, std::optional<std::string>*>) return static_cast<std::string*>(nullptr);
        return value;
      },
      field.value);
  return {field.name, field.help, field.range, plain};
}

bool is_optional(const Field& field) { return without_optional(field).value.index() != field.value.index(); }

std::string needs_of(const Field& field) {
  if (std::holds_alternative<bool*>(field.value)) return "True or False";
  if (std::holds_alternative<std::vector<std::string>*>(field.value)) return "a str or an iterable of str";
  return requirement_text(without_optional(field)) + (is_optional(field) ? ", or None" : "");
}

/// Sets the value of a field to that of a Python object.
class SetValue {
 public:
  SetValue(const Field& field, nb::handle value, std::string_view caller)
      : field_(field), value_(value), caller_(caller) {}

  void operator()(bool* to) const {
    if (!PyBool_Check(value_.ptr())) fail_value();
    *to = value_.ptr() == Py_True;
  }
  void operator()(int* to) const { *to = static_cast<int>(read_whole(std::numeric_limits<int>::max())); }
  void operator()(std::int64_t* to) const { *to = read_whole(std::numeric_limits<std::int64_t>::max()); }
  void operator()(std::uint64_t* to) const {
    const nb::object whole = whole_of_value();
    *to = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() != nullptr) fail_range();
  }
  void operator()(double* to) const {
    // A str has a number too: float("1") is one.
    if (PyBool_Check(value_.ptr()) || PyNumber_Check(value_.ptr()) == 0) fail_value();
    const double number = PyFloat_AsDouble(value_.ptr());
    if (PyErr_Occurred() != nullptr) fail_range();
    if (!field_.range.contains(number)) fail_range();
    *to = number;
  }
  void operator()(std::string* to) const {
    if (!nb::isinstance<nb::str>(value_)) fail_value();
    *to = read_text(value_, caller_, field_.name);
  }
  template <class Value>
  void operator()(std::optional<Value>* to) const {
    if (value_.is_none()) {
      to->reset();
    } else {
      (*this)(&to->emplace());
    }
  }
  void operator()(const EnumValue& to) const {
    if (!nb::isinstance<nb::str>(value_)) fail_value();
    const auto found = std::ranges::find(to.names, read_text(value_, caller_, field_.name));
    if (found == to.names.end()) fail_range();
    to.set(static_cast<std::size_t>(found - to.names.begin()));
  }
  void operator()(std::vector<std::string>* to) const { *to = read_texts(value_, caller_, field_.name).texts; }
  template <class Element>
  void operator()(const std::vector<Element>*) const {
    fail_list();
  }
  void operator()(const Section&) const { fail_list(); }

 private:
  [[noreturn]] void fail_value() const { fail_type(caller_, field_.name, value_, needs_of(field_)); }
  [[noreturn]] void fail_list() const {
    fail("{}: {} is no option of Python, needs a single value", caller_, field_.name);
  }
  [[noreturn]] void fail_range() const {
    PyErr_Clear();
    fail("{}: {} is {}, needs {}", caller_, field_.name, describe(value_), needs_of(field_));
  }

  /// Converts an int, or an integer of another library such as numpy.int64, but no bool and no float.
  nb::object whole_of_value() const {
    if (PyBool_Check(value_.ptr()) || PyIndex_Check(value_.ptr()) == 0) fail_value();
    PyObject* whole = PyNumber_Index(value_.ptr());
    if (whole == nullptr) throw nb::python_error();
    return nb::steal(whole);
  }

  std::int64_t read_whole(std::int64_t largest) const {
    const nb::object whole = whole_of_value();
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow != 0 || number > largest || !field_.range.contains(static_cast<double>(number))) fail_range();
    return number;
  }

  const Field& field_;
  nb::handle value_;
  std::string_view caller_;
};

struct GetValue {
  nb::object operator()(const bool* value) const { return nb::bool_(*value); }
  nb::object operator()(const std::string* value) const { return make_text(*value); }
  nb::object operator()(const EnumValue& value) const { return make_text(value.get()); }
  template <class Number>
  requires std::is_arithmetic_v<Number> nb::object operator()(const Number* value) const { return nb::cast(*value); }
  template <class Value>
  nb::object operator()(const std::optional<Value>* value) const {
    return *value ? (*this)(&**value) : nb::none();
  }
  nb::object operator()(const std::vector<std::string>* value) const { return make_text_list(*value); }
  template <class Element>
  nb::object operator()(const std::vector<Element>*) const {
    fail("option_value: the option has several values, needs one");
  }
  nb::object operator()(const Section&) const { fail("option_value: the option is a section, needs a value"); }
};

struct Annotation {
  std::string operator()(const bool*) const { return "bool"; }
  std::string operator()(const double*) const { return "float"; }
  std::string operator()(const std::string*) const { return "str"; }
  template <class Number>
  requires std::is_integral_v<Number> std::string operator()(const Number*) const { return "int"; }
  template <class Value>
  std::string operator()(const std::optional<Value>*) const {
    return (*this)(static_cast<const Value*>(nullptr)) + " | None";
  }
  std::string operator()(const EnumValue& value) const {
    return fmt::format("Literal[\"{}\"]", fmt::join(value.names, "\", \""));
  }
  std::string operator()(const std::vector<std::string>*) const { return "str | Iterable[str]"; }
  template <class Element>
  std::string operator()(const std::vector<Element>*) const {
    fail("annotation_of: the option has several values, needs one");
  }
  std::string operator()(const Section&) const { fail("annotation_of: the option is a section, needs a value"); }
};

const Field& find_field(std::span<const Field> fields, const std::string& name, std::string_view caller,
                        std::string_view helper) {
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (field.name == name) return field;
    names.push_back(field.name);
  }
  const auto nearest = nearest_name(name, names);
  const std::string advice =
      nearest ? fmt::format("did you mean {}?", *nearest) : fmt::format("help(edgewise.{}) lists the options", helper);
  throw nb::type_error(fmt::format("{}: {} is unknown; {}", caller, name, advice).c_str());
}

}  // namespace

void set_options(std::span<const Field> fields, const nb::kwargs& keywords, std::string_view caller,
                 std::string_view helper) {
  for (const auto& [key, value] : keywords) {
    const std::string name = read_text(key, caller, "a keyword");
    const Field& field = find_field(fields, name, caller, helper.empty() ? caller : helper);
    std::visit(SetValue(field, value, caller), field.value);
  }
}

nb::object option_value(const Field& field) { return std::visit(GetValue(), field.value); }

std::string annotation_of(const Field& field) { return std::visit(Annotation(), field.value); }

std::string describe_options(std::span<const Field> fields, bool has_defaults) {
  std::string text;
  for (const Field& field : fields) {
    const std::string default_value = has_defaults ? "; default " + describe(option_value(field)) : "";
    text += fmt::format("    {}: {}; {}{}\n", field.name, field.help, needs_of(field), default_value);
  }
  return text;
}

}  // namespace edgewise::python
