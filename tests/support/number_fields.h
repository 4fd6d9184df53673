// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// A number field of an option struct, or a field with a list of numbers.
struct NumberField {
  std::string path;  // "train.steps"
  Range range;
  bool is_whole;
  bool is_unsigned;
  bool is_list;

  /// Returns the field's value for an override.
  std::string text_of(const std::string& number) const { return is_list ? "[" + number + "]" : number; }

  /// Writes the field for GoogleTest.
  friend void PrintTo(const NumberField& field, std::ostream* out) { *out << field.path; }
};

namespace detail {

template <class... Values>
bool holds_any(const Field& field) {
  return (std::holds_alternative<Values>(field.value) || ...);
}

inline void collect_numbers(const Section& section, const std::string& prefix, std::vector<NumberField>& numbers) {
  using Whole = std::int64_t;
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (const auto* inner = std::get_if<Section>(&field.value)) collect_numbers(*inner, path + ".", numbers);
    const bool is_unsigned = holds_any<std::uint64_t*>(field);
    const bool is_whole = is_unsigned || holds_any<int*, Whole*, std::optional<Whole>*, std::vector<Whole>*>(field);
    if (!is_whole && !holds_any<double*, std::optional<double>*, std::vector<double>*>(field)) continue;
    const bool is_list = holds_any<std::vector<Whole>*, std::vector<double>*>(field);
    numbers.push_back({path, field.range, is_whole, is_unsigned, is_list});
  }
}

}  // namespace detail

/// Lists the number fields of an option struct and its sections.
template <OptionStruct Options>
std::vector<NumberField> number_fields() {
  Options options;
  std::vector<NumberField> numbers;
  detail::collect_numbers(fields_of(options), "", numbers);
  return numbers;
}

}  // namespace edgewise
