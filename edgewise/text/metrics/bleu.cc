// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/metrics/bleu.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/metrics/ngrams.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool is_point_or_comma(char character) { return character == '.' || character == ','; }

/// Returns whether 13a always separates this character from words: ASCII except letters, digits, control characters and
/// ' , - .
bool is_always_separate(char character) {
  const bool is_printable = character >= ' ' && character <= '~';
  return is_printable && !is_letter_of_ascii(character) && !is_digit_of_ascii(character) &&
         std::string_view("',-.").find(character) == std::string_view::npos;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Removes or decodes markup, as mteval does before it tokenizes.
std::string remove_markup(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  return text;
}

/// Puts spaces around the second character of each pair of neighbours that satisfies `is_pair`, or around the first if
/// `before_first`: from left to right, without overlaps.
template <class Text, class IsPair>
Text split_pairs(const Text& text, IsPair is_pair, bool before_first) {
  constexpr typename Text::value_type kSpace = ' ';
  Text result;
  result.reserve(text.size() + text.size() / 4);
  std::size_t i = 0;
  while (i < text.size()) {
    if (i + 1 == text.size() || !is_pair(text[i], text[i + 1])) {
      result += text[i++];
      continue;
    }
    if (before_first) result += kSpace;
    ((result += text[i]) += kSpace) += text[i + 1];
    if (!before_first) result += kSpace;
    i += 2;
  }
  return result;
}

std::string separate_ascii_punctuation(std::string_view text) {
  std::string result;
  result.reserve(text.size() * 2);
  for (const char character : text) {
    if (is_always_separate(character)) {
      ((result += ' ') += character) += ' ';
    } else {
      result += character;
    }
  }
  return result;
}

/// Works on bytes instead of characters, because the rules depend on ASCII characters only.
std::string tokenize_13a(std::string_view line) {
  std::string text = separate_ascii_punctuation(fmt::format(" {} ", remove_markup(line)));
  text = split_pairs(
      text, [](char first, char second) { return !is_digit_of_ascii(first) && is_point_or_comma(second); }, false);
  text = split_pairs(
      text, [](char first, char second) { return is_point_or_comma(first) && !is_digit_of_ascii(second); }, true);
  return split_pairs(
      text, [](char first, char second) { return is_digit_of_ascii(first) && second == '-'; }, false);
}

std::string tokenize_intl(std::string_view line) {
  std::u32string text;
  for_each_code_point(line, [&](CodePoint point, std::size_t) { text += point.value; });
  text = split_pairs(
      text, [](char32_t first, char32_t second) { return !is_number(first) && is_punctuation(second); }, false);
  text = split_pairs(
      text, [](char32_t first, char32_t second) { return is_punctuation(first) && !is_number(second); }, true);
  std::string result;
  for (const char32_t character : text) {
    const bool is_alone = is_symbol(character);
    if (is_alone) result += ' ';
    append_utf8(result, character);
    if (is_alone) result += ' ';
  }
  return result;
}

constexpr double kLogOfZero = -9999999999.0;  // sacreBLEU's value, which keeps the mean of logarithms finite

NgramUnits tokenize_line(std::string_view line, const BleuOptions& options) {
  const std::string text = options.lower_case ? lower_case(line) : std::string(line);
  const std::string tokenized = tokenize_for_bleu(strip_trailing_space(text), options.tokenizer);
  return NgramUnits::from_words(split_words(tokenized));
}

void add_line(BleuScore& sums, const NgramUnits& hypothesis, const NgramUnits& reference) {
  sums.hypothesis_length += static_cast<std::int64_t>(hypothesis.size());
  sums.reference_length += static_cast<std::int64_t>(reference.size());
  for (std::size_t n = 1; n <= kBleuOrders; ++n) {
    const NgramMatches matches = match_ngrams(hypothesis, reference, n);
    sums.matches[n - 1] += matches.matches;
    sums.totals[n - 1] += matches.hypothesis;
  }
}

double brevity_penalty_of(std::int64_t hypothesis, std::int64_t reference) {
  if (hypothesis >= reference) return 1.0;
  if (hypothesis == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(reference) / static_cast<double>(hypothesis));
}

/// Returns precisions in percent; 0 for orders that no hypothesis is long enough for.
std::array<double, kBleuOrders> precisions_of(const BleuScore& sums, BleuSmoothing smoothing) {
  std::array<double, kBleuOrders> precisions{};
  double halves = 1.0;
  for (std::size_t i = 0; i < kBleuOrders && sums.totals[i] > 0; ++i) {
    const auto total = static_cast<double>(sums.totals[i]);
    if (sums.matches[i] > 0) {
      precisions[i] = 100.0 * static_cast<double>(sums.matches[i]) / total;
    } else if (smoothing == BleuSmoothing::kExponential) {
      halves *= 2.0;
      precisions[i] = 100.0 / (halves * total);
    }
  }
  return precisions;
}

double geometric_mean(const std::array<double, kBleuOrders>& precisions) {
  double sum = 0.0;
  for (const double precision : precisions) sum += precision == 0.0 ? kLogOfZero : std::log(precision);
  return std::exp(sum / static_cast<double>(kBleuOrders));
}

}  // namespace

std::string tokenize_for_bleu(std::string_view line, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return tokenize_13a(line);
    case BleuTokenizer::kIntl:
      return tokenize_intl(line);
    case BleuTokenizer::kNone:
      return std::string(line);
  }
  fail("tokenize_for_bleu: tokenizer is {}, needs one of enum_names", static_cast<int>(tokenizer));
}

double BleuScore::ratio() const {
  if (reference_length == 0) return 0.0;
  return static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

std::string BleuScore::format(int digits, std::string_view signature) const {
  std::string precisions_text;
  for (const double precision : precisions) {
    precisions_text += fmt::format("{}{:.1f}", precisions_text.empty() ? "" : "/", precision);
  }
  return fmt::format("BLEU{}{} = {:.{}f} {} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     signature.empty() ? "" : "|", signature, score, digits, precisions_text, brevity_penalty, ratio(),
                     hypothesis_length, reference_length);
}

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options, const StopRequest* stop) {
  check_segments("bleu", hypotheses, references);
  BleuScore result;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    throw_if_set(stop);
    add_line(result, tokenize_line(hypotheses[i], options), tokenize_line(references[i], options));
  }
  result.brevity_penalty = brevity_penalty_of(result.hypothesis_length, result.reference_length);
  const bool has_match = std::any_of(result.matches.begin(), result.matches.end(), [](auto n) { return n > 0; });
  if (!has_match) return result;
  result.precisions = precisions_of(result, options.smoothing);
  result.score = result.brevity_penalty * geometric_mean(result.precisions);
  return result;
}

std::string bleu_signature(const BleuOptions& options) {
  return fmt::format("nrefs:1|case:{}|eff:no|tok:{}|smooth:{}|version:{}", options.lower_case ? "lc" : "mixed",
                     enum_name(options.tokenizer), options.smoothing == BleuSmoothing::kExponential ? "exp" : "none",
                     kMetricVersion);
}

}  // namespace edgewise
