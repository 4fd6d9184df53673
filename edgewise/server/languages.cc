// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/languages.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/locid.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

struct CodeAlias {
  std::string_view alias;
  std::string_view code;
};

// LibreTranslate's codes, old codes, and codes of NLLB-200 for single languages of a macrolanguage with a short code.
constexpr CodeAlias kAliases[] = {
    {"als", "sq"}, {"arb", "ar"}, {"ayr", "ay"}, {"azj", "az"}, {"cmn", "zh"},   {"ekk", "et"}, {"fil", "tl"},
    {"gaz", "om"}, {"in", "id"},  {"iw", "he"},  {"ji", "yi"},  {"jw", "jv"},    {"khk", "mn"}, {"kmr", "ku"},
    {"no", "nb"},  {"lvs", "lv"}, {"npi", "ne"}, {"ory", "or"}, {"pb", "pt_BR"}, {"pbt", "ps"}, {"pes", "fa"},
    {"plt", "mg"}, {"quy", "qu"}, {"swh", "sw"}, {"uzn", "uz"}, {"ydd", "yi"},   {"zsm", "ms"}, {"zt", "zh_Hant"}};

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
  return found == std::end(kAliases) ? lower : std::string(found->code) + lower.substr(end);
}

icu::Locale with_likely_parts(const icu::Locale& locale) {
  icu::Locale likely = locale;
  UErrorCode status = U_ZERO_ERROR;
  likely.addLikelySubtags(status);
  return likely;
}

/// Whether a list of ICU, which ends with a null pointer, has a text.
bool has_text(const char* const* list, std::string_view text) {
  for (; *list != nullptr; ++list) {
    if (text == *list) return true;
  }
  return false;
}

/// Whether ICU has a locale of a language in a region, such as zh_Hant_TW.
bool is_spoken_in(const std::string& language, const std::string& region) {
  for (std::int32_t i = 0; i < uloc_countAvailable(); ++i) {
    const std::string_view name = uloc_getAvailable(i);
    if (name.starts_with(language + "_") && name.ends_with("_" + region)) return true;
  }
  return false;
}

/// Returns whether a text with the form of a code names two languages. The second part of `en-de` is also the code of a
/// region, so its case decides first: a region is in upper case, after a language in lower case. Otherwise the region
/// must be one where people speak the first language, and not the one that has its name from the second language.
bool is_pair(std::string_view text) {
  const std::size_t dash = text.find_first_of("-_");
  if (dash == std::string_view::npos) return false;
  const std::string first = lower_ascii(text.substr(0, dash));
  const std::string second = lower_ascii(text.substr(dash + 1));
  if (second.size() < 2 || second.size() > 3 || !std::ranges::all_of(second, is_letter_of_ascii)) return false;
  if (second.size() == 3) return true;  // neither a region nor a script
  if (upper_ascii(second) == text.substr(dash + 1) && first == text.substr(0, dash)) return false;
  if (!has_text(uloc_getISOCountries(), upper_ascii(second))) return true;
  if (first == second) return false;
  const bool names_its_region = second == with_likely_parts(icu::Locale("und", second.c_str())).getLanguage();
  if (names_its_region) return second != icu::Locale(replace_alias(first).c_str()).getLanguage();
  return has_text(uloc_getISOLanguages(), second) && !is_spoken_in(first, upper_ascii(second));
}

CodeParts parts_of(const icu::Locale& locale) {
  return {locale.getLanguage(), locale.getScript(), locale.getCountry()};
}

/// Returns whether texts of the language have this script if the code names none.
bool is_usual_script(const std::string& language, const std::string& script) {
  if (language == "ko") return script == "Kore" || script == "Hang";
  return with_likely_parts(icu::Locale(language.c_str())).getScript() == script;
}

constexpr int kNumGuesses = 3;  // CLD2 returns three

struct LanguageGuess {
  std::string code;  // CLD2's
  double percent = 0;
};

/// Returns the text in the form that CLD2 needs: without control characters and noncharacters.
std::string interchangeable_text(std::string_view text) {
  std::string result;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    const char32_t value = point.value;
    const bool is_control = point.size == 0 || value < 0x20 || (value >= 0x7F && value < 0xA0);
    const bool is_noncharacter = (value & 0xFFFE) == 0xFFFE || (value >= 0xFDD0 && value <= 0xFDEF);
    if (is_control || is_noncharacter) {
      result += ' ';
    } else {
      result += text.substr(offset, point.size);
    }
  });
  return result;
}

std::vector<LanguageGuess> guess_languages(const std::string& text, bool is_html) {
  std::array<CLD2::Language, kNumGuesses> languages{};
  std::array<int, kNumGuesses> percents{};
  std::array<double, kNumGuesses> scores{};
  const CLD2::CLDHints no_hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  int text_bytes = 0;
  int valid_bytes = 0;
  bool is_reliable = false;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), !is_html, &no_hints,
                                          CLD2::kCLDFlagBestEffort, languages.data(), percents.data(), scores.data(),
                                          nullptr, &text_bytes, &is_reliable, &valid_bytes);
  std::vector<LanguageGuess> guesses;
  for (std::size_t i = 0; i < kNumGuesses; ++i) {
    const bool is_known = languages[i] != CLD2::UNKNOWN_LANGUAGE && percents[i] > 0;
    if (is_known) guesses.push_back({CLD2::LanguageCode(languages[i]), static_cast<double>(percents[i])});
  }
  return guesses;
}

std::string default_language(const ServedLanguages& languages) {
  return languages.targets().contains("en") ? "en" : languages.models().front()->sources.begin()->first;
}

}  // namespace

std::optional<std::string> find_language_code(std::string_view name) {
  const std::string_view plain = remove_marks(name);
  if (!has_form_of_code(plain) || is_pair(plain)) return std::nullopt;
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

std::vector<DetectedLanguage> detect_languages(std::string_view text, const ServedLanguages& languages, bool is_html) {
  constexpr std::size_t kMostBytes = 1 << 20;  // far more than CLD2 needs, and below the range of int
  std::vector<DetectedLanguage> detected;
  for (const LanguageGuess& guess : guess_languages(interchangeable_text(utf8_prefix(text, kMostBytes)), is_html)) {
    const auto code = languages.find_code(guess.code);
    const bool is_new = code && std::ranges::find(detected, *code, &DetectedLanguage::code) == detected.end();
    if (is_new) detected.push_back({*code, guess.percent});
  }
  if (detected.empty() && !languages.models().empty()) detected.push_back({default_language(languages), 0});
  return detected;
}

std::vector<DetectedLanguage> detect_language_of_each(std::span<const std::string> texts,
                                                      const ServedLanguages& languages, bool is_html) {
  std::vector<DetectedLanguage> detected;
  for (const std::string& text : texts) detected.push_back(detect_languages(text, languages, is_html).front());
  const auto is_unknown = [](const DetectedLanguage& language) { return language.confidence == 0; };
  if (std::ranges::none_of(detected, is_unknown)) return detected;
  const std::string all = fmt::format("{}\n", fmt::join(texts, "\n"));
  const std::string code_of_all = detect_languages(all, languages, is_html).front().code;
  for (DetectedLanguage& language : detected) {
    if (is_unknown(language)) language.code = code_of_all;
  }
  return detected;
}

}  // namespace edgewise
