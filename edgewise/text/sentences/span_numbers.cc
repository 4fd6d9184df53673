// SPDX-License-Identifier: Apache-2.0
#include <unicode/uchar.h>

#include <algorithm>
#include <unordered_set>

#include "edgewise/base/ascii.h"
#include "edgewise/text/sentences/span_patterns.h"
#include "edgewise/text/sentences/text_scan.h"

namespace edgewise {
namespace {

using UnitSet = std::unordered_set<std::string_view>;

bool is_currency(char32_t point) { return u_charType(static_cast<UChar32>(point)) == U_CURRENCY_SYMBOL; }

/// The letters and digits of a text of ASCII without white space.
struct Characters {
  std::size_t digits = 0;
  std::size_t capitals = 0;
  std::size_t small = 0;
  std::size_t dots = 0;
  std::size_t colons = 0;
  bool has_digit_after_letter = false;  // directly
};

Characters count_characters(std::string_view text) {
  Characters count;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit_of_ascii(c)) {
      ++count.digits;
      count.has_digit_after_letter = count.has_digit_after_letter || (i > 0 && is_letter_of_ascii(text[i - 1]));
    } else if (c >= 'A' && c <= 'Z') {
      ++count.capitals;
    } else if (is_letter_of_ascii(c)) {
      ++count.small;
    }
    count.dots += c == '.' ? 1 : 0;
    count.colons += c == ':' ? 1 : 0;
  }
  return count;
}

/// Returns the end of letters and digits, and of marks between them that codes and numbers have.
std::size_t skip_code(std::string_view text, std::size_t begin) {
  std::size_t end = skip_while(text, begin, is_alphanumeric_of_ascii);
  while (end > begin && is_one_of(byte_or_zero(text, end), ".,-_/:+'#") &&
         is_alphanumeric_of_ascii(byte_or_zero(text, end + 1))) {
    end = skip_while(text, end + 1, is_alphanumeric_of_ascii);
  }
  return end;
}

bool is_version(std::string_view text, const Characters& count) {
  const bool has_v = text.size() > 1 && (text[0] == 'v' || text[0] == 'V') && is_digit_of_ascii(text[1]);
  const bool begins_with_number = has_v || is_digit_of_ascii(text[0]);
  return begins_with_number && (count.dots >= 2 || (has_v && count.dots >= 1));
}

bool is_long_code(std::string_view text) {
  const Characters count = count_characters(text);
  if (count.digits == 0) return false;
  if (count.capitals + count.small == 0) return count.digits >= 5 || count.dots >= 2 || count.colons >= 2;
  if (is_version(text, count)) return true;
  if (count.small == 0) return count.digits >= 3;
  return count.digits >= 3 && count.has_digit_after_letter;
}

/// Reads digits in groups of three with spaces between them: `1 000 000`.
std::size_t skip_spaced_number(std::string_view text, std::size_t begin) {
  std::size_t end = skip_while(text, begin, is_digit_of_ascii);
  if (end == begin || end > begin + 3) return begin;
  const std::size_t first = end;
  for (;;) {
    const CodePoint space = text_point_at(text, end);
    if (space.value != U' ' && space.value != 0xA0 && space.value != 0x202F) break;
    const std::size_t group = end + space.size;
    const std::size_t group_end = skip_while(text, group, is_digit_of_ascii);
    if (group_end != group + 3 || has_word_at(text, group_end)) break;
    end = group_end;
  }
  return end > first ? end : begin;
}

std::size_t find_spaced_number_end(std::string_view text, std::size_t begin) {
  const std::size_t end = skip_spaced_number(text, begin);
  return count_characters(text.substr(begin, end - begin)).digits >= 5 ? end : begin;
}

std::size_t find_phone_end(std::string_view text, std::size_t begin) {
  if (byte_or_zero(text, begin) != '+' || !is_digit_of_ascii(byte_or_zero(text, begin + 1))) return begin;
  std::size_t end = begin + 1;
  for (std::size_t i = end; i < text.size() && (is_digit_of_ascii(text[i]) || is_one_of(text[i], " -/().")); ++i) {
    if (is_digit_of_ascii(text[i])) end = i + 1;
  }
  return count_characters(text.substr(begin, end - begin)).digits >= 7 && !has_word_at(text, end) ? end : begin;
}

/// A number with the sign of a currency before or after it.
std::size_t find_price_end(std::string_view text, std::size_t begin) {
  const CodePoint sign = text_point_at(text, begin);
  const bool has_sign = is_currency(sign.value);
  const std::size_t first = has_sign ? begin + sign.size : begin;
  if (!is_digit_of_ascii(byte_or_zero(text, first))) return begin;
  std::size_t end = skip_while(text, first, is_digit_of_ascii);
  if (const std::size_t spaced = skip_spaced_number(text, first); spaced > first) end = spaced;
  while (is_one_of(byte_or_zero(text, end), ".,'") && is_digit_of_ascii(byte_or_zero(text, end + 1)))
    end = skip_while(text, end + 1, is_digit_of_ascii);
  if (has_sign) return has_word_at(text, end) ? begin : end;
  CodePoint next = text_point_at(text, end);
  std::size_t after = end;
  if (next.value == U' ' || next.value == 0xA0 || next.value == 0x202F) {
    after += next.size;
    next = text_point_at(text, after);
  }
  const std::size_t sign_end = after + next.size;
  const bool begins_placeholder = find_placeholder_end(text, after) > after;  // `5 ${x}`
  return is_currency(next.value) && !has_word_at(text, sign_end) && !begins_placeholder ? sign_end : begin;
}

}  // namespace

std::size_t find_number_end(std::string_view text, std::size_t begin) {
  for (const auto find : {find_price_end, find_phone_end, find_spaced_number_end}) {
    if (const std::size_t end = find(text, begin); end > begin) return end;
  }
  std::size_t end = skip_code(text, begin);
  if (end == begin || has_word_at(text, end)) return begin;
  if (!is_long_code(text.substr(begin, end - begin))) return begin;
  if (byte_or_zero(text, end) == '%') ++end;
  return end;
}

bool is_code(std::string_view text) {
  bool has_digit = false;
  bool is_upper = true;
  for_each_code_point(text, [&](CodePoint point, std::size_t) {
    has_digit = has_digit || is_number(point.value);
    if (is_letter(point.value)) is_upper = is_upper && lowercase_letter(point.value) != point.value;
  });
  return has_digit && (is_upper || is_long_code(text));
}

bool is_unit(std::string_view text) {
  static const UnitSet kUnits = {
      "m",    "km",   "cm",  "mm",  "nm",   "µm",  "μm",  "g",   "kg",  "mg",  "µg",  "μg",   "t",    "l",    "L",
      "ml",   "mL",   "cl",  "dl",  "hl",   "s",   "ms",  "µs",  "ns",  "min", "h",   "d",    "Hz",   "kHz",  "MHz",
      "GHz",  "W",    "kW",  "MW",  "GW",   "Wh",  "kWh", "MWh", "V",   "mV",  "kV",  "A",    "mA",   "mAh",  "Ah",
      "J",    "kJ",   "MJ",  "cal", "kcal", "N",   "Pa",  "hPa", "kPa", "MPa", "bar", "K",    "C",    "F",    "B",
      "kB",   "KB",   "MB",  "GB",  "TB",   "PB",  "KiB", "MiB", "GiB", "TiB", "bit", "kbit", "Mbit", "Gbit", "kbps",
      "Mbps", "Gbps", "dB",  "px",  "pt",   "dpi", "fps", "ppm", "ha",  "Ω",   "kΩ",  "MΩ",   "x",    "EUR",  "USD",
      "GBP",  "CHF",  "JPY", "CNY", "SEK",  "NOK", "DKK", "PLN", "CZK", "HUF", "RUB", "INR",  "BRL",  "CAD",  "AUD"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("/*"), text.size());
    std::string_view unit = text.substr(0, end);
    while (unit.ends_with("²") || unit.ends_with("³")) unit.remove_suffix(2);
    if (unit.starts_with("°")) unit.remove_prefix(2);
    if (!kUnits.contains(unit)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace edgewise
