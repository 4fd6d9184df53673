// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/fields.h"

#include <cmath>
#include <limits>

#include "edgewise/base/config/field_text.h"

namespace edgewise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

Range Range::or_infinite() const {
  Range range = *this;
  range.has_infinities_ = true;
  return range;
}

bool Range::contains(double value) const {
  if (std::isnan(value)) return false;
  if (std::isinf(value)) return has_infinities_;
  const bool is_high_enough = !lower_ || value > lower_->value || (lower_->inclusive && value == lower_->value);
  const bool is_low_enough = !upper_ || value < upper_->value || (upper_->inclusive && value == upper_->value);
  return is_high_enough && is_low_enough;
}

std::optional<double> Range::smallest() const {
  if (!lower_) return std::nullopt;
  return lower_->inclusive ? lower_->value : std::nextafter(lower_->value, kInfinity);
}

std::optional<double> Range::largest() const {
  if (!upper_) return std::nullopt;
  return upper_->inclusive ? upper_->value : std::nextafter(upper_->value, -kInfinity);
}

std::string Range::text() const {
  if (lower_ && upper_) {
    if (lower_->inclusive)
      return fmt::format(" from {} to {}{}", lower_->value, upper_->inclusive ? "" : "below ", upper_->value);
    return fmt::format(" above {} and {} {}", lower_->value, upper_->inclusive ? "at most" : "below", upper_->value);
  }
  if (lower_) return fmt::format(" {} {}", lower_->inclusive ? "of at least" : "above", lower_->value);
  if (upper_) return fmt::format(" {} {}", upper_->inclusive ? "of at most" : "below", upper_->value);
  return "";
}

void detail::check_ranges(const Section& fields, std::string_view caller, const std::string& prefix) {
  for (const Field& field : fields) {
    const std::string path = prefix + field.name;
    if (const auto* section = std::get_if<Section>(&field.value)) check_ranges(*section, caller, path + ".");
    const bool is_in_range = std::visit(IsInRange{field.range}, field.value);
    if (!is_in_range) fail("{}: {} is {}, needs {}", caller, path, value_text(field, path), requirement_text(field));
  }
}

}  // namespace edgewise
