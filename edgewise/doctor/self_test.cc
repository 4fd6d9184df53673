// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/self_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

#include "edgewise/base/random.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/threads.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/search/search.h"

namespace edgewise {
namespace {

// The fixed model.

constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kSize = 64;
constexpr std::int64_t kFeedForward = 144;
constexpr std::int64_t kVocabulary = 1100;  // two tiles of the output projection

/// Draws numbers from [-1, 1] without functions of the mathematical library, whose last bits differ between machines.
std::vector<float> draw_numbers(std::int64_t count, RandomStream& random) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(static_cast<std::int32_t>(random.next_u32())) * 0x1p-31f;
  return numbers;
}

/// Draws parameters by name.
class FixedParameters {
 public:
  /// Draws numbers from [mean - range, mean + range].
  void add(const std::string& name, std::vector<std::int64_t> shape, float range, float mean = 0) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float>& numbers = numbers_.emplace_back(draw_numbers(count, random_));
    for (float& number : numbers) number = mean + range * number;
    tensors_.push_back({.name = name,
                        .dtype = DType::kF32,
                        .shape = std::move(shape),
                        .bytes = std::as_bytes(std::span<const float>(numbers))});
  }

  void add_norm(const std::string& name) {
    add(name + ".gain", {kSize}, 0.25f, 1);
    add(name + ".bias", {kSize}, 0.25f);
  }

  /// Draws weights of a variance of 1 / in.
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in}, std::sqrt(3 / static_cast<float>(in)));
    add(name + ".bias", {out}, 0.25f);
  }

  void add_attention(const std::string& name) {
    for (const char* part : {".query", ".key", ".value", ".output"}) add_linear(name + part, kSize, kSize);
    add_norm(name + "_norm");
  }

  void add_layer(const std::string& name, std::initializer_list<const char*> attentions) {
    for (const char* attention : attentions) add_attention(name + attention);
    add_linear(name + "feed_forward.inner", kSize, kFeedForward);
    add_linear(name + "feed_forward.outer", kFeedForward, kSize);
    add_norm(name + "feed_forward_norm");
  }

  SafetensorsFile file() const { return SafetensorsFile::parse(serialize_safetensors(tensors_), "the fixed model"); }

 private:
  RandomStream random_{/*seed=*/7};
  std::vector<std::vector<float>> numbers_;  // the tensors' bytes; growing the outer vector keeps them in place
  std::vector<TensorInfo> tensors_;
};

// The tests.

/// Compares numbers one by one with expected numbers.
class Comparison {
 public:
  /// `allowed` is the largest allowed difference.
  void compare(double found, double expected, double allowed) {
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

/// Returns the largest allowed error of the log-probability (in nats) of an output, per token. It is at least five
/// times the error that rounding causes: 1e-6 in fp32, 0.003 in bf16 and 0.012 in int8.
double allowed_error(RuntimePrecision precision) {
  if (precision == RuntimePrecision::kFp32) return 1e-5;
  return precision == RuntimePrecision::kBf16 ? 0.02 : 0.06;
}

/// The hypotheses of each input, best first.
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
    comparison.compare(scored[i].front().log_probability, expected.log_probability,
                       num_tokens * allowed_error(precision));
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
                     "the parameters of the fixed model have other bits, need the same bits on every machine");
  const RuntimeModel model(fixed_model_options(), parameters, "the fixed model", precision);
  const std::vector<SearchInput> inputs = inputs_of(fixed_outputs());
  const SearchOptions options = fixed_search_options();
  const Hypotheses together = search(*model.make_scorer(), std::span(inputs), options);
  require_same_bits(search_one_by_one(model, inputs, options), together, comparison);
  if constexpr (precision == RuntimePrecision::kFp32) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tokens& found = together[i].front().tokens;
      const Tokens& expected = fixed_outputs()[i].output;
      comparison.require(found == expected, fmt::format("output {} has the tokens {}, needs {}", i,
                                                        fmt::join(found, " "), fmt::join(expected, " ")));
    }
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

TransformerOptions fixed_model_options() {
  TransformerOptions options;
  options.encoder_layers = options.decoder_layers = kLayers;
  options.size = kSize;
  options.heads = 4;
  options.feed_forward = kFeedForward;
  options.tying = Tying::kNone;
  options.input_vocabulary = options.output_vocabulary = kVocabulary;
  return options;
}

SafetensorsFile fixed_model_parameters() {
  FixedParameters parameters;
  parameters.add("input_embedding.weight", {kVocabulary, kSize}, 0.25f);
  parameters.add("output_embedding.weight", {kVocabulary, kSize}, 0.25f);
  parameters.add("generator.weight", {kVocabulary, kSize}, 0.5f);
  parameters.add("generator.bias", {kVocabulary}, 0.25f);
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const std::string number = std::to_string(i);
    parameters.add_layer("encoder.layers." + number + ".", {"self_attention"});
    parameters.add_layer("decoder.layers." + number + ".", {"self_attention", "cross_attention"});
  }
  parameters.add_norm("encoder.norm");
  parameters.add_norm("decoder.norm");
  return parameters.file();
}

SearchOptions fixed_search_options() { return {.beam = 4, .max_length = 12}; }

const std::vector<FixedOutput>& fixed_outputs() {
  static const std::vector<FixedOutput> outputs = {
      {.input = {4, 9, 5, 3},
       .output = {280, 1002, 225, 768, 690, 252, 723, 91, 858, 863, 795, 847},
       .log_probability = -29.069908},
      {.input = {1000, 3},
       .output = {2, 280, 841, 221, 943, 498, 499, 946, 1040, 280, 221, 943},
       .log_probability = -35.642665},
      {.input = {5, 5, 40, 700, 7, 9, 10, 30, 4, 6, 5, 8, 999, 4, 4, 55, 7, 1099, 81, 82, 83, 84, 85, 86, 87, 88, 3},
       .output = {89, 480, 480, 480, 480, 480, 480, 480, 16, 795, 403, 899},
       .log_probability = -29.353820},
      {.input = {500, 501, 502, 503, 504, 505, 506, 3},
       .output = {670, 1084, 723, 102, 119, 454, 114, 359, 670, 91, 858, 265},
       .log_probability = -33.419983}};
  return outputs;
}

}  // namespace edgewise
