// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

#include "edgewise/base/config/fields.h"

namespace edgewise {

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
