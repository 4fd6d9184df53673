// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace edgewise {

/// The range of a number field, or of each number of a list field. A default Range contains all finite numbers.
/// `at_least(0).below(1)` is the range from 0 to below 1. NaN is in no range.
class Range {
 public:
  Range at_least(double end) const { return {End{end, true}, upper_, has_infinities_}; }
  Range above(double end) const { return {End{end, false}, upper_, has_infinities_}; }
  Range at_most(double end) const { return {lower_, End{end, true}, has_infinities_}; }
  Range below(double end) const { return {lower_, End{end, false}, has_infinities_}; }

  /// Returns the range with an infinity added on each side that has no end.
  Range or_infinite() const { return {lower_, upper_, true}; }

  bool contains(double value) const;

  /// Returns the smallest or the largest double of the range; nothing if the range has no such end.
  std::optional<double> smallest() const;
  std::optional<double> largest() const;

  /// Returns the text to put behind "a number": " from 0 to below 1", " of at least 1", " above 0"; "" for all numbers.
  std::string text() const;

  Range() = default;

 private:
  struct End {
    double value;
    bool inclusive;
  };

  Range(std::optional<End> lower, std::optional<End> upper, bool has_infinities)
      : lower_(lower), upper_(upper), has_infinities_(has_infinities) {}

  std::optional<End> lower_;
  std::optional<End> upper_;
  bool has_infinities_ = false;
};

inline Range at_least(double end) { return Range().at_least(end); }
inline Range above(double end) { return Range().above(end); }
inline Range at_most(double end) { return Range().at_most(end); }
inline Range below(double end) { return Range().below(end); }
/// The range of all numbers, infinities included.
inline Range any_number() { return Range().or_infinite(); }

/// Sets `value` to the number that `text` spells in decimal digits. Returns false, and leaves `value` unchanged, if the
/// text is something else (empty, with spaces, hexadecimal, with a sign `+`), if the type cannot hold the number, and
/// if the number is not in the range. "-0" is 0.
template <class Number>
bool parse_number(std::string_view text, const Range& range, Number& value) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole_text = error == std::errc() && end == text.data() + text.size();
  if (!is_whole_text || !range.contains(static_cast<double>(number))) return false;
  value = number + Number{};  // turns -0.0 into 0.0
  return true;
}

}  // namespace edgewise
