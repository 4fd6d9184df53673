// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/language_detector.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>
#include <array>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

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
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  const std::string code_of_all = detect_languages(all, languages, is_html).front().code;
  for (DetectedLanguage& language : detected) {
    if (is_unknown(language)) language.code = code_of_all;
  }
  return detected;
}

}  // namespace edgewise
