// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/error.h"

// An option struct lists its fields once; reading, defaults, help and saving (config.h) come from that list.
//
//     struct DropoutOptions {
//       double residual = 0.1;
//       NormPlacement norm = NormPlacement::kPre;
//
//       template <class Self, class Field>
//       static void list_fields(Self& self, Field&& field) {
//         field("residual", self.residual, "share of residual values dropped while training", at_least(0).below(1));
//         field("norm", self.norm, "where the norm stands");
//       }
//     };
//
// A field is a bool, int, std::int64_t, std::uint64_t, double, std::string, an optional of the last four but
// std::uint64_t, a list of std::string, std::int64_t or double, an enum with enum_names, or a struct with list_fields.

namespace edgewise {

/// The numbers that a field takes; for a list, that each of its numbers must be. All finite and infinite ones unless
/// narrowed: `at_least(0).below(1)`.
class Range {
 public:
  Range at_least(double end) const { return {End{end, true}, upper_}; }
  Range above(double end) const { return {End{end, false}, upper_}; }
  Range at_most(double end) const { return {lower_, End{end, true}}; }
  Range below(double end) const { return {lower_, End{end, false}}; }

  bool contains(double value) const;

  /// What stands after "a number": " from 0 to below 1", " of at least 1", " above 0"; nothing for all numbers.
  std::string text() const;

  Range() = default;

 private:
  struct End {
    double value;
    bool inclusive;
  };

  Range(std::optional<End> lower, std::optional<End> upper) : lower_(lower), upper_(upper) {}

  std::optional<End> lower_;
  std::optional<End> upper_;
};

inline Range at_least(double end) { return Range().at_least(end); }
inline Range above(double end) { return Range().above(end); }
inline Range at_most(double end) { return Range().at_most(end); }
inline Range below(double end) { return Range().below(end); }

/// One line of an enum's names, found by argument-dependent lookup and listed in the enum's own namespace:
///
///     inline constexpr auto enum_names(NormPlacement) {
///       return std::array{EnumName<NormPlacement>{NormPlacement::kPre, "pre"}, …};
///     }
template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

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

/// An enum field without its type: names in the order of enum_names.
struct EnumValue {
  std::vector<std::string_view> names;
  std::function<std::string_view()> get;
  std::function<void(std::size_t index)> set;
};

struct Field;
using Section = std::vector<Field>;
using FieldValue =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*, std::optional<double>*,
                 std::optional<std::int64_t>*, std::optional<std::string>*, std::vector<std::string>*,
                 std::vector<std::int64_t>*, std::vector<double>*, EnumValue, Section>;

/// One field of an option struct, pointing into that struct.
struct Field {
  std::string name;
  std::string help;
  Range range;
  FieldValue value;
};

/// The fields of a struct, in their order; they point into `options`.
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

  template <class Value>
  void operator()(std::string_view name, Value& value, std::string_view help, Range range = {}) const {
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

}  // namespace edgewise
