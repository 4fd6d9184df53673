// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/fields.h"

#include "edgewise/base/config/field_text.h"

namespace edgewise {
namespace {

bool contains_element(const Range& range, double value) { return range.contains(value); }
bool contains_element(const Range& range, std::int64_t value) { return range.contains(static_cast<double>(value)); }
bool contains_element(const Range& range, std::uint64_t value) { return range.contains(static_cast<double>(value)); }
bool contains_element(const Range&, const std::string&) { return true; }

// Whether a field's numbers are in its range.
struct IsInRange {
  const Range& range;

  bool operator()(const bool*) const { return true; }
  bool operator()(const int* value) const { return contains_element(range, std::int64_t{*value}); }
  bool operator()(const EnumValue&) const { return true; }
  bool operator()(const Section&) const { return true; }
  template <class Value>
  bool operator()(const Value* value) const {
    return contains_element(range, *value);
  }
  template <class Value>
  bool operator()(const std::optional<Value>* value) const {
    return !*value || contains_element(range, **value);
  }
  template <class Element>
  bool operator()(const std::vector<Element>* list) const {
    for (const Element& element : *list) {
      if (!contains_element(range, element)) return false;
    }
    return true;
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
