// SPDX-License-Identifier: Apache-2.0
// Compares the frequencies of whole sampled outputs with their probabilities.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/search/search_cases.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 8;
constexpr std::int64_t kSamplesOfInput = 1000;

std::vector<Hypothesis> draw_samples(const SearchCase& given, std::int64_t num_inputs) {
  TableScorer scorer(given.vocabulary, given.table, given.attention);
  SearchOptions options = given.options;
  options.n_best = kSamplesOfInput;
  const std::vector<SearchInput> inputs(static_cast<std::size_t>(num_inputs), given.input);
  std::vector<Hypothesis> samples;
  for (const std::vector<Hypothesis>& of_input : search(scorer, inputs, options)) {
    samples.insert(samples.end(), of_input.begin(), of_input.end());
  }
  return samples;
}

/// Returns a limit that a chi-squared number exceeds with a probability of less than 1e-9, six standard deviations, by
/// the approximation of Wilson and Hilferty (1931).
double limit_of_chi_squared(double degrees) {
  const double variance = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1.0 - variance + 6.0 * std::sqrt(variance), 3);
}

/// Describes how the frequencies differ from the probabilities; returns "" if chance explains the difference. Rare
/// outputs are counted together, so that each count is nearly normally distributed.
std::string find_deviation(const std::map<Tokens, double>& probabilities, const std::vector<Hypothesis>& samples) {
  constexpr double kLeastExpected = 20;
  std::map<Tokens, double> counts;
  for (const Hypothesis& sample : samples) {
    ++counts[sample.tokens];
    if (!probabilities.contains(sample.tokens)) return fmt::format("{} has probability 0", sample.tokens.size());
  }
  double chi_squared = 0;
  double degrees = -1;
  double expected = 0;
  double found = 0;
  for (const auto& [tokens, probability] : probabilities) {
    expected += probability * static_cast<double>(samples.size());
    found += counts[tokens];
    if (expected < kLeastExpected) continue;
    chi_squared += (found - expected) * (found - expected) / expected;
    degrees += 1;
    expected = found = 0;
  }
  if (degrees < 1 || chi_squared < limit_of_chi_squared(degrees)) return {};
  return fmt::format("chi squared is {} with {} degrees of freedom", chi_squared, degrees);
}

RC_GTEST_PROP(Sampling, DrawsWholeOutputsWithTheirProbabilities, ()) {
  SearchCase given = arbitrary_search_case(kVocabulary, Equals::kNever);
  given.options.kind = SearchKind::kSampling;

  const std::vector<Hypothesis> samples = draw_samples(given, 2);

  const std::string deviation = find_deviation(sampling_distribution(given), samples);
  if (!deviation.empty()) RC_FAIL(deviation);
}

RC_GTEST_PROP(Sampling, RanksSamplesByTheirScores, ()) {
  SearchCase given = arbitrary_search_case(kVocabulary);
  given.options.kind = SearchKind::kSampling;
  given.options.n_best = 20;

  const std::vector<Hypothesis> samples = given.search(given.options);

  RC_ASSERT(samples.size() == 20U);
  RC_ASSERT(std::ranges::is_sorted(samples, std::ranges::greater(), &Hypothesis::score));
  const std::vector<Hypothesis> outputs = all_outputs(given);
  for (const Hypothesis& sample : samples) {
    const auto output = std::ranges::find(outputs, sample.tokens, &Hypothesis::tokens);
    RC_ASSERT(output != outputs.end());
    RC_ASSERT(sample.log_probability == output->log_probability);
    RC_ASSERT(sample.score == output->score || std::abs(sample.score - output->score) < 1e-9);
  }
}

struct SamplingSettings {
  std::string name;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
};

class SamplingOf : public testing::TestWithParam<SamplingSettings> {};

INSTANTIATE_TEST_SUITE_P(, SamplingOf,
                         testing::Values(SamplingSettings{.name = "Defaults"},
                                         SamplingSettings{.name = "LowTemperature", .temperature = 0.5},
                                         SamplingSettings{.name = "HighTemperature", .temperature = 3.0},
                                         SamplingSettings{.name = "TopK", .top_k = 2},
                                         SamplingSettings{.name = "TopP", .top_p = 0.9},
                                         SamplingSettings{.name = "MinP", .min_p = 0.3},
                                         SamplingSettings{.name = "All", .temperature = 2.0, .top_k = 3, .top_p = 0.8}),
                         [](const auto& settings) { return settings.param.name; });

// So many draws tell an output of probability 0.1 from one of 0.112.
TEST_P(SamplingOf, DrawsWholeOutputsWithTheirProbabilitiesIn50000Draws) {
  SearchCase given{.vocabulary = kVocabulary,
                   .options = {.kind = SearchKind::kSampling,
                               .length_factor = 0.0,
                               .length_offset = 3,
                               .repetition_penalty = 1.3,
                               .temperature = GetParam().temperature,
                               .top_k = GetParam().top_k,
                               .top_p = GetParam().top_p,
                               .min_p = GetParam().min_p,
                               .only = {4, 5, 6}},
                   .input = {.tokens = {4, 5}},
                   .table = random_table(kVocabulary, 11),
                   .attention = {}};
  const std::map<Tokens, double> probabilities = sampling_distribution(given);
  ASSERT_GT(probabilities.size(), 3U);

  EXPECT_EQ(find_deviation(probabilities, draw_samples(given, 50)), "");
}

}  // namespace
}  // namespace edgewise
