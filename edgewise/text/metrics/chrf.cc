// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/metrics/chrf.h"

#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/metrics/ngrams.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kCharacterOrder = 6;
constexpr int kMaxWordOrder = 4;
constexpr double kBeta = 2.0;

bool is_ascii_punctuation(char character) {
  constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return kPunctuation.find(character) != std::string_view::npos;
}

/// Splits a line into words, and one punctuation character off each word: its last character, or else its first.
std::vector<std::string_view> split_chrf_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split_words(line)) {
    const bool is_single = code_point_at(word, 0).size == word.size();
    if (!is_single && is_ascii_punctuation(word.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (!is_single && is_ascii_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

/// N-grams of all lines, for each character order and then each word order.
using NgramSums = std::vector<NgramMatches>;

/// Adds the n-grams of a line up to an order, for the orders from `first` on. Ignores n-grams of a hypothesis whose
/// reference has no n-gram of this order, as sacreBLEU does.
void add_orders(NgramSums& sums, std::size_t first, std::size_t order, const NgramUnits& hypothesis,
                const NgramUnits& reference) {
  for (std::size_t n = 1; n <= order; ++n) {
    const NgramMatches line = match_ngrams(hypothesis, reference, n);
    NgramMatches& sum = sums[first + n - 1];
    sum.hypothesis += line.reference > 0 ? line.hypothesis : 0;
    sum.reference += line.reference;
    sum.matches += line.matches;
  }
}

double f_score(const NgramSums& sums) {
  double precision = 0.0;
  double recall = 0.0;
  int counted = 0;
  for (const NgramMatches& order : sums) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
    recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
    ++counted;
  }
  if (precision + recall == 0.0) return 0.0;
  precision /= counted;
  recall /= counted;
  constexpr double kFactor = kBeta * kBeta;
  return 100.0 * ((1.0 + kFactor) * precision * recall / (kFactor * precision + recall));
}

}  // namespace

std::string ChrfScore::format(int digits, std::string_view signature) const {
  return fmt::format("{}{}{} = {:.{}f}", name, signature.empty() ? "" : "|", signature, score, digits);
}

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options) {
  check(options.word_order >= 0 && options.word_order <= kMaxWordOrder, "chrf: word_order is {}, needs 0 to {}",
        options.word_order, kMaxWordOrder);
  check_segments("chrf", hypotheses, references);
  const auto word_order = static_cast<std::size_t>(options.word_order);
  NgramSums sums(kCharacterOrder + word_order);
  const auto cased = [&](const std::string& line) { return options.lower_case ? lower_case(line) : line; };
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = cased(hypotheses[i]);
    const std::string reference = cased(references[i]);
    add_orders(sums, 0, kCharacterOrder, NgramUnits::from_characters(hypothesis),
               NgramUnits::from_characters(reference));
    if (word_order == 0) continue;
    add_orders(sums, kCharacterOrder, word_order, NgramUnits::from_words(split_chrf_words(hypothesis)),
               NgramUnits::from_words(split_chrf_words(reference)));
  }
  return {f_score(sums), fmt::format("chrF{:.0f}{}", kBeta, std::string(options.word_order, '+'))};
}

std::string chrf_signature(const ChrfOptions& options) {
  return fmt::format("nrefs:1|case:{}|eff:yes|nc:{}|nw:{}|space:no|version:{}", options.lower_case ? "lc" : "mixed",
                     kCharacterOrder, options.word_order, kMetricVersion);
}

}  // namespace edgewise
