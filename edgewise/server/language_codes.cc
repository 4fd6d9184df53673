// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/language_codes.h"

#include <unicode/locid.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <array>

#include "edgewise/base/ascii.h"

namespace edgewise {
namespace {

struct CodeAlias {
  std::string_view alias;
  std::string_view code;
};

// LibreTranslate's codes, old codes, and codes of NLLB-200 for single languages of a macrolanguage with a short code.
constexpr std::array kAliases = {
    CodeAlias{"als", "sq"}, CodeAlias{"arb", "ar"}, CodeAlias{"ayr", "ay"},   CodeAlias{"azj", "az"},
    CodeAlias{"cmn", "zh"}, CodeAlias{"ekk", "et"}, CodeAlias{"fil", "tl"},   CodeAlias{"gaz", "om"},
    CodeAlias{"in", "id"},  CodeAlias{"iw", "he"},  CodeAlias{"ji", "yi"},    CodeAlias{"jw", "jv"},
    CodeAlias{"khk", "mn"}, CodeAlias{"kmr", "ku"}, CodeAlias{"no", "nb"},    CodeAlias{"lvs", "lv"},
    CodeAlias{"npi", "ne"}, CodeAlias{"ory", "or"}, CodeAlias{"pb", "pt_BR"}, CodeAlias{"pbt", "ps"},
    CodeAlias{"pes", "fa"}, CodeAlias{"plt", "mg"}, CodeAlias{"quy", "qu"},   CodeAlias{"swh", "sw"},
    CodeAlias{"uzn", "uz"}, CodeAlias{"ydd", "yi"}, CodeAlias{"zsm", "ms"},   CodeAlias{"zt", "zh_Hant"}};

struct CodeParts {
  std::string language;
  std::string script = {};
  std::string region = {};

  std::string code() const {
    return language + (script.empty() ? "" : "-" + script) + (region.empty() ? "" : "-" + region);
  }
};

/// Removes the marks around the codes of some models: `__de__`, `>>deu<<`.
std::string_view remove_marks(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_not_of(">_"), name.size());
  const std::size_t end = name.find_last_not_of("<_") + 1;
  return name.substr(begin, end > begin ? end - begin : 0);
}

/// Returns whether the text has the form `ll`, `lll`, `ll-Ssss`, `ll-RR` or `ll-Ssss-RR`, with `-` or `_`.
bool has_form_of_code(std::string_view text) {
  std::size_t length = 0;
  bool is_first = true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size() || text[i] == '-' || text[i] == '_';
    if (is_end && (length < 2 || length > (is_first ? 3 : 4))) return false;
    if (!is_end && !is_letter_of_ascii(text[i]) && (is_first || !is_digit_of_ascii(text[i]))) return false;
    is_first = is_first && !is_end;
    length = is_end ? 0 : length + 1;
  }
  return text.size() <= 11;
}

std::string replace_alias(std::string_view name) {
  const std::string lower = lower_ascii(name);
  const std::size_t end = std::min(lower.find_first_of("-_"), lower.size());
  const auto* found = std::ranges::find(kAliases, std::string_view(lower).substr(0, end), &CodeAlias::alias);
  return found == kAliases.end() ? lower : std::string(found->code) + lower.substr(end);
}

icu::Locale with_likely_parts(const icu::Locale& locale) {
  icu::Locale likely = locale;
  UErrorCode status = U_ZERO_ERROR;
  likely.addLikelySubtags(status);
  return likely;
}

CodeParts parts_of(const icu::Locale& locale) {
  return {locale.getLanguage(), locale.getScript(), locale.getCountry()};
}

/// Returns whether texts of the language have this script if the code names none.
bool is_usual_script(const std::string& language, const std::string& script) {
  if (language == "ko") return script == "Kore" || script == "Hang";
  return with_likely_parts(icu::Locale(language.c_str())).getScript() == script;
}

}  // namespace

std::optional<std::string> find_language_code(std::string_view name) {
  const std::string_view plain = remove_marks(name);
  if (!has_form_of_code(plain)) return std::nullopt;
  const icu::Locale locale(replace_alias(plain).c_str());
  CodeParts parts = parts_of(locale);
  if (parts.language == "zh") return CodeParts{"zh", with_likely_parts(locale).getScript()}.code();
  if (is_usual_script(parts.language, parts.script)) parts.script.clear();
  return parts.code();
}

std::vector<std::string> broader_codes(const std::string& code) {
  std::vector<std::string> codes = {code};
  CodeParts parts = parts_of(icu::Locale::createCanonical(code.c_str()));
  for (std::string* part : {&parts.region, &parts.script}) {
    part->clear();
    if (parts.language != "zh" && codes.back() != parts.code()) codes.push_back(parts.code());
  }
  return codes;
}

std::string language_name(const std::string& code) {
  icu::UnicodeString name;
  icu::Locale::createCanonical(code.c_str()).getDisplayName(icu::Locale::getEnglish(), name);
  std::string text;
  name.toUTF8String(text);
  return text.empty() ? code : text;
}

}  // namespace edgewise
