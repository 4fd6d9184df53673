// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

bool has_category(char32_t code_point, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(code_point)) & mask) != 0;
}

using CaseMapping = void(const char* locale, std::uint32_t options, icu::StringPiece text, icu::ByteSink& sink,
                         icu::Edits* edits, UErrorCode& status);

std::string map_case(std::string_view text, CaseMapping* map, std::string_view name) {
  std::string mapped;
  icu::StringByteSink<std::string> sink(&mapped);
  UErrorCode status = U_ZERO_ERROR;
  map("", 0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr, status);
  check(U_SUCCESS(status), "{}: text has {} bytes, ICU says {}", name, text.size(), u_errorName(status));
  return mapped;
}

}  // namespace

bool is_space(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0D) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || has_category(code_point, U_GC_Z_MASK);
}

bool is_white_space(char32_t code_point) { return u_isUWhiteSpace(static_cast<UChar32>(code_point)) != 0; }

bool is_regex_word(char32_t code_point) {
  constexpr std::uint32_t kCategories = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  const auto point = static_cast<UChar32>(code_point);
  return has_category(code_point, kCategories) || u_isUAlphabetic(point) != 0 ||
         u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL) != 0;
}

bool is_number(char32_t code_point) { return has_category(code_point, U_GC_N_MASK); }
bool is_punctuation(char32_t code_point) { return has_category(code_point, U_GC_P_MASK); }
bool is_symbol(char32_t code_point) { return has_category(code_point, U_GC_S_MASK); }
bool is_letter(char32_t code_point) { return has_category(code_point, U_GC_L_MASK); }
bool is_mark(char32_t code_point) { return has_category(code_point, U_GC_M_MASK); }
bool is_control_or_format(char32_t code_point) { return has_category(code_point, U_GC_CC_MASK | U_GC_CF_MASK); }
bool is_lowercase(char32_t code_point) { return has_category(code_point, U_GC_LL_MASK); }

bool has_letters_without_spaces(char32_t code_point) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(code_point), &status);
  return U_SUCCESS(status) != 0 && uscript_breaksBetweenLetters(script) != 0;
}

int script_of(char32_t code_point) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(code_point), &status);
  const bool has_script = U_SUCCESS(status) != 0 && script > USCRIPT_INHERITED;
  return has_script ? static_cast<int>(script) : kNoScript;
}

std::string_view script_name(int script) { return uscript_getName(static_cast<UScriptCode>(script)); }

bool is_wide(char32_t code_point) {
  const auto width = u_getIntPropertyValue(static_cast<UChar32>(code_point), UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

char32_t lowercase_letter(char32_t code_point) {
  return static_cast<char32_t>(u_tolower(static_cast<UChar32>(code_point)));
}

char32_t titlecase_letter(char32_t code_point) {
  return static_cast<char32_t>(u_totitle(static_cast<UChar32>(code_point)));
}

std::string lower_case(std::string_view text) { return map_case(text, icu::CaseMap::utf8ToLower, "lower_case"); }

std::string upper_case(std::string_view text) { return map_case(text, icu::CaseMap::utf8ToUpper, "upper_case"); }

std::string to_normal_form(std::string_view text, NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const bool is_canonical = form == NormalForm::kNfc || form == NormalForm::kNfd;
  const bool is_composed = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getInstance(
      nullptr, is_canonical ? "nfc" : "nfkc", is_composed ? UNORM2_COMPOSE : UNORM2_DECOMPOSE, status);
  std::string normal;
  icu::StringByteSink<std::string> sink(&normal);
  if (U_SUCCESS(status)) {
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                              status);
  }
  check(U_SUCCESS(status), "to_normal_form: text has {} bytes, ICU says {}", text.size(), u_errorName(status));
  return normal;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  auto end_word = [&](std::size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (!is_space(point.value)) return;
    end_word(offset);
    begin = offset + point.size;
  });
  end_word(text.size());
  return words;
}

std::string_view strip_trailing_space(std::string_view text) {
  std::size_t end = 0;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (!is_space(point.value)) end = offset + point.size;
  });
  return text.substr(0, end);
}

std::string_view strip_leading_space(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = code_point_at(text, 0);
    if (point.size == 0 || !is_space(point.value)) break;
    text.remove_prefix(point.size);
  }
  return text;
}

std::string_view strip_space(std::string_view text) { return strip_leading_space(strip_trailing_space(text)); }

}  // namespace edgewise
