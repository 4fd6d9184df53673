// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/decoding_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/doctor/fixed_model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/search/search.h"

namespace edgewise {
namespace {

/// Returns the largest allowed error of a token's log-probability, the mean over an output: at least five times the
/// errors that rounding causes, which are 1e-6, 0.003 and 0.012.
double allowed_error(RuntimePrecision precision) {
  switch (precision) {
    case RuntimePrecision::kFp32:
      return 1e-5;
    case RuntimePrecision::kBf16:
      return 0.02;
    case RuntimePrecision::kInt8:
      return 0.06;
  }
  return 0;
}

using Hypotheses = std::vector<std::vector<Hypothesis>>;

std::vector<SearchInput> inputs_of(const std::vector<FixedOutput>& outputs) {
  std::vector<SearchInput> inputs;
  inputs.reserve(outputs.size());
  for (const FixedOutput& output : outputs) inputs.push_back({.tokens = output.input});
  return inputs;
}

bool has_same_bits(const Hypothesis& a, const Hypothesis& b) {
  return a.tokens == b.tokens && a.log_probability == b.log_probability && a.score == b.score;
}

Hypotheses search_one_by_one(const RuntimeModel& model, const std::vector<SearchInput>& inputs,
                             const SearchOptions& options) {
  const NumThreadsScope one_thread(1);
  const std::unique_ptr<Scorer> scorer = model.make_scorer();
  Hypotheses all;
  for (const SearchInput& input : inputs) all.push_back(search(*scorer, std::span(&input, 1), options).front());
  return all;
}

void require_same_bits(const Hypotheses& alone, const Hypotheses& together, Comparison& comparison) {
  for (std::size_t i = 0; i < together.size(); ++i) {
    const bool is_equal = std::ranges::equal(alone[i], together[i], has_same_bits);
    comparison.require(is_equal, "decoding a sentence alone in one thread changes the bits, needs the same bits");
  }
}

/// Compares the log-probability that the model gives to each expected output.
void compare_probabilities(const RuntimeModel& model, RuntimePrecision precision, Comparison& comparison) {
  std::vector<SearchInput> inputs = inputs_of(fixed_outputs());
  SearchOptions options = fixed_search_options();
  options.kind = SearchKind::kScoring;
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].prefix = fixed_outputs()[i].output;
  const Hypotheses scored = search(*model.make_scorer(), std::span<const SearchInput>(inputs), options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const FixedOutput& expected = fixed_outputs()[i];
    const auto num_tokens = static_cast<double>(expected.output.size() + 1);
    comparison.add(scored[i].front().log_probability, expected.log_probability, num_tokens * allowed_error(precision));
  }
}

}  // namespace

Finding test_decoding(RuntimePrecision precision) {
  const RuntimeModel model(fixed_model_options(), fixed_model_parameters(), "the fixed model", precision);
  const std::vector<SearchInput> inputs = inputs_of(fixed_outputs());
  const SearchOptions options = fixed_search_options();
  const Hypotheses together = search(*model.make_scorer(), std::span(inputs), options);
  Comparison comparison;
  require_same_bits(search_one_by_one(model, inputs, options), together, comparison);
  for (std::size_t i = 0; precision == RuntimePrecision::kFp32 && i < inputs.size(); ++i) {
    const Tokens& found = together[i].front().tokens;
    const Tokens& expected = fixed_outputs()[i].output;
    comparison.require(found == expected, fmt::format("output {} has the tokens {}, needs {}", i, fmt::join(found, " "),
                                                      fmt::join(expected, " ")));
  }
  compare_probabilities(model, precision, comparison);
  return comparison.finding();
}

}  // namespace edgewise
