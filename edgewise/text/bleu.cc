// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/text/ngrams.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

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
