// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"

// An option struct lists its fields once. Reading, defaults, help and saving (config.h) use this list.
//
//     struct DropoutOptions {
//       double residual = 0.1;
//       NormPlacement norm = NormPlacement::kPre;
//
//       static void list_fields(auto& self, auto&& field) {
//         field("residual", self.residual, "dropout rate of sublayer outputs", at_least(0).below(1));
//         field("norm", self.norm, "layer normalisation before or after a sublayer");
//       }
//     };
//
// A field is a bool, int, std::int64_t, std::uint64_t, double or std::string, an optional double, std::int64_t or
// std::string, a vector of std::string, std::int64_t or double, StringLists, an enum with enum_names, or a struct with
// list_fields.

namespace edgewise {

/// One entry of the array that `enum_names(Enum)` returns. Define that function in the namespace of the enum:
///
///     inline constexpr auto enum_names(NormPlacement) { return names_in_order<NormPlacement>("pre", "post"); }
template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};
template <class Enum>
EnumName(Enum, std::string_view) -> EnumName<Enum>;

/// Returns the entries of an enum whose values are 0, 1, 2 and so on: one for each of them, in their order.
template <class Enum, class... Names>
constexpr std::array<EnumName<Enum>, sizeof...(Names)> names_in_order(Names... names) {
  int next = 0;
  return {{{static_cast<Enum>(next++), names}...}};
}

template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  enum_names(value);
};

template <NamedEnum Enum>
std::string_view enum_name(Enum value) {
  for (const auto& named : enum_names(value)) {
    if (named.value == value) return named.name;
  }
  fail("enum_name: value is {}, needs one that enum_names lists", static_cast<long long>(value));
}

/// Returns nothing for a name that enum_names does not list.
template <NamedEnum Enum>
std::optional<Enum> find_enum(std::string_view name) {
  for (const auto& named : enum_names(Enum())) {
    if (named.name == name) return named.value;
  }
  return std::nullopt;
}

namespace detail {

struct AnyField {
  template <class... Arguments>
  void operator()(Arguments&&...) const {}
};

}  // namespace detail

/// A struct that lists its fields.
template <class Options>
concept OptionStruct = requires(Options& options, detail::AnyField field) {
  Options::list_fields(options, field);
};

/// Access to an enum field without the enum's type. `names` and the index have the order of enum_names.
struct EnumValue {
  std::vector<std::string_view> names;
  std::function<std::string_view()> get;
  std::function<void(std::size_t index)> set;
};

/// Lists of strings. In a config, a list of strings stands for one such list, and a string for a list of this string.
using StringLists = std::vector<std::vector<std::string>>;

struct Field;
using Section = std::vector<Field>;
using FieldValue =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*, std::optional<double>*,
                 std::optional<std::int64_t>*, std::optional<std::string>*, std::vector<std::string>*,
                 std::vector<std::int64_t>*, std::vector<double>*, StringLists*, EnumValue, Section>;

/// One field of an option struct. `value` points into that struct.
struct Field {
  std::string name;
  std::string help;
  Range range;
  FieldValue value;
};

/// Returns the fields of a struct in their order; they point into `options`.
template <OptionStruct Options>
Section fields_of(Options& options);

namespace detail {

template <class Value>
FieldValue value_of(Value& value) {
  if constexpr (OptionStruct<Value>) {
    return fields_of(value);
  } else if constexpr (std::is_enum_v<Value>) {
    static_assert(NamedEnum<Value>, "an enum that is an option needs enum_names(Enum) beside it");
    EnumValue erased;
    for (const auto& named : enum_names(Value{})) erased.names.push_back(named.name);
    erased.get = [&value] { return enum_name(value); };
    erased.set = [&value](std::size_t index) { value = enum_names(Value{})[index].value; };
    return erased;
  } else {
    static_assert(std::constructible_from<FieldValue, Value*>, "fields.h lists the types that an option can have");
    return &value;
  }
}

struct CollectFields {
  Section& section;

  void operator()(std::string_view name, auto& value, std::string_view help, Range range = {}) const {
    section.push_back({std::string(name), std::string(help), range, value_of(value)});
  }
};

}  // namespace detail

template <OptionStruct Options>
Section fields_of(Options& options) {
  Section section;
  Options::list_fields(options, detail::CollectFields{section});
  return section;
}

/// Returns the range of one field of a struct, so that a command-line option can have the range of a config's field.
template <OptionStruct Options>
Range range_of(std::string_view name) {
  Options options;
  for (const Field& field : fields_of(options)) {
    if (field.name == name) return field.range;
  }
  fail("range_of: no field is called {}, needs one that list_fields lists", name);
}

namespace detail {
void check_ranges(const Section& fields, std::string_view caller, const std::string& prefix);
}

/// Throws Error for the first number outside its range: "search: beam is 0, needs a whole number from 1 to 1000". The
/// config reader checks ranges itself; this function checks options that a program sets. `prefix` is the section of
/// `options` in a config, such as "search.".
template <OptionStruct Options>
void check_ranges(const Options& options, std::string_view caller, std::string_view prefix = "") {
  Options copy = options;
  detail::check_ranges(fields_of(copy), caller, std::string(prefix));
}

}  // namespace edgewise
