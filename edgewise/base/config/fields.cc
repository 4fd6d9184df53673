// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/fields.h"

#include <algorithm>

#include "edgewise/base/config/field_text.h"

namespace edgewise {
namespace {

/// Whether a field's numbers are in its range.
struct IsInRange {
  const Range& range;

  template <class Value>
  bool operator()(const Value& value) const {
    if constexpr (std::is_pointer_v<Value>) {
      return (*this)(*value);
    } else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
      return range.contains(static_cast<double>(value));
    } else {
      return true;
    }
  }
  template <class Value>
  bool operator()(const std::optional<Value>& value) const {
    return !value || (*this)(*value);
  }
  template <class Element>
  bool operator()(const std::vector<Element>& list) const {
    return std::ranges::all_of(list, *this);
  }
};

}  // namespace

void detail::check_ranges(const Section& fields, std::string_view caller, const std::string& prefix) {
  for (const Field& field : fields) {
    const std::string path = prefix + field.name;
    if (const auto* section = std::get_if<Section>(&field.value)) check_ranges(*section, caller, path + ".");
    const bool is_in_range = std::visit(IsInRange{field.range}, field.value);
    if (!is_in_range) fail("{}: {} is {}, needs {}", caller, path, value_text(field, path), requirement_text(field));
  }
}

}  // namespace edgewise
