// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/self_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "edgewise/base/sha256.h"
#include "edgewise/base/threads.h"
#include "edgewise/doctor/fixed_model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/search/search.h"

namespace edgewise {
namespace {

/// Compares numbers one by one with expected numbers.
class Comparison {
 public:
  /// `allowed` is the largest allowed difference.
  void add(double found, double expected, double allowed) {
    const double difference = std::abs(found - expected);
    require(difference <= allowed,  // false for a NaN
            fmt::format("a number is {:.9g}, needs {:.9g} ± {:.2g}", found, expected, allowed));
    if (difference > 0) largest_ = std::max(largest_, difference / allowed);
  }

  /// Records the text of the first condition that does not hold.
  void require(bool condition, std::string_view text) {
    if (!condition && failure_.empty()) failure_ = text;
  }

  Finding finding() const {
    if (!failure_.empty()) return {.is_right = false, .text = failure_};
    const double percent = std::ceil(100 * largest_ - 1e-6);
    return {.is_right = true, .text = fmt::format("largest error {:.0f} % of the allowed one", percent)};
  }

 private:
  double largest_ = 0;  // largest difference, in allowed differences
  std::string failure_;
};

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

/// Decodes the inputs of the fixed model. Requires the same bits for each input alone in one thread and for all inputs
/// together; with fp32 also the output that the model in double has, and with each precision the probability of that
/// output.
template <RuntimePrecision precision>
Finding test_decoding() {
  const SafetensorsFile parameters = fixed_model_parameters();
  Comparison comparison;
  comparison.require(sha256(parameters.bytes()) == kFixedModelDigest,
                     "the parameters of the fixed model have other bits, needs the same bits on every machine");
  const RuntimeModel model(fixed_model_options(), parameters, "the fixed model", precision);
  const std::vector<SearchInput> inputs = inputs_of(fixed_outputs());
  const SearchOptions options = fixed_search_options();
  const Hypotheses together = search(*model.make_scorer(), std::span(inputs), options);
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

}  // namespace

std::span<const SelfTest> self_tests() {
  static constexpr std::array kTests = {SelfTest{"decoding, fp32", test_decoding<RuntimePrecision::kFp32>},
                                        SelfTest{"decoding, bf16", test_decoding<RuntimePrecision::kBf16>},
                                        SelfTest{"decoding, int8", test_decoding<RuntimePrecision::kInt8>}};
  return kTests;
}

Finding run_self_test(const SelfTest& test) {
  try {
    return test.run();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {.is_right = false, .text = error.what()};
  }
}

}  // namespace edgewise
