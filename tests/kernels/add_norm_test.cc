// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/norm/add_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/near.h"
#include "tests/kernels/not_written.h"

// Shapes: T = rows, M = size of a row.
namespace edgewise::kernels {
namespace {

template <typename T>
std::vector<T> normal(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.normal()));
  return values;
}

struct Case {
  std::int64_t rows;
  std::int64_t size;
  NormFormula formula;
  double dropout = 0.0;
  bool has_y = true;         // y is not null
  bool has_grad_sum = true;  // grad_sum is not null
  bool has_grad_y = true;    // grad_y is not null
};

NormFormula layer_norm(std::int64_t size) { return {static_cast<double>(size), 1e-5, 0.0}; }
NormFormula std_norm(std::int64_t size) { return {static_cast<double>(size - 1), 0.0, 1e-5}; }

std::string describe(const Case& c) {
  return std::to_string(c.rows) + " rows of " + std::to_string(c.size) + ", dropout " + std::to_string(c.dropout);
}

// The results of both passes.
template <typename X, typename Y, typename N>
struct Results {
  std::vector<X> sum, grad_x;
  std::vector<Y> grad_y;
  std::vector<N> normed;
  std::vector<float> mean, deviation, grad_gain, grad_bias;
};

/// Runs forward and backward of kernels::, or of kernels::reference::.
template <typename X, typename Y, typename N>
Results<X, Y, N> run(const Case& c, bool reference) {
  const std::int64_t count = c.rows * c.size;
  const auto x = normal<X>(count, 1);
  const auto y = normal<Y>(count, 2);
  const auto gain = normal<float>(c.size, 3);
  const auto bias = normal<float>(c.size, 4);
  const auto grad_sum = normal<X>(count, 5);
  const auto grad_normed = normal<N>(count, 6);
  const Dropout dropout = {c.dropout, 7, 8};
  Results<X, Y, N> r = {c.has_y ? not_written<X>(count) : x,
                        not_written<X>(count),
                        c.has_grad_y ? not_written<Y>(count) : y,
                        not_written<N>(count),
                        not_written(c.rows),
                        not_written(c.rows),
                        not_written(c.size),
                        not_written(c.size)};

  const AddNormForward<X, Y, N> forward = {.x = x.data(),
                                           .y = c.has_y ? y.data() : nullptr,
                                           .gain = gain.data(),
                                           .bias = bias.data(),
                                           .sum = r.sum.data(),
                                           .normed = r.normed.data(),
                                           .mean = r.mean.data(),
                                           .deviation = r.deviation.data(),
                                           .num_rows = c.rows,
                                           .size = c.size,
                                           .formula = c.formula,
                                           .dropout = dropout};
  reference ? reference::add_norm_forward(forward) : add_norm_forward(forward);

  const AddNormBackward<X, Y, N> backward = {.sum = r.sum.data(),
                                             .gain = gain.data(),
                                             .mean = r.mean.data(),
                                             .deviation = r.deviation.data(),
                                             .grad_sum = c.has_grad_sum ? grad_sum.data() : nullptr,
                                             .grad_normed = grad_normed.data(),
                                             .grad_x = r.grad_x.data(),
                                             .grad_y = c.has_grad_y ? r.grad_y.data() : nullptr,
                                             .grad_gain = r.grad_gain.data(),
                                             .grad_bias = r.grad_bias.data(),
                                             .num_rows = c.rows,
                                             .size = c.size,
                                             .formula = c.formula,
                                             .dropout = dropout};
  reference ? reference::add_norm_backward(backward) : add_norm_backward(backward);
  return r;
}

/// Allows the rounding of both results: a sum in another order may round to the next number of type T.
template <typename T>
void expect_near_or_next(const std::vector<T>& actual, const std::vector<T>& expected, const std::string& what) {
  expect_near(actual, std::vector<double>(expected.begin(), expected.end()), what,
              {.rounding = 2 * kTolerance<T>.rounding, .sums = kTolerance<float>.sums});
}

template <typename X, typename Y, typename N>
void expect_reference(const Case& c) {
  SCOPED_TRACE(describe(c));
  const auto actual = run<X, Y, N>(c, /*reference=*/false);
  const auto expected = run<X, Y, N>(c, /*reference=*/true);
  ASSERT_TRUE(std::ranges::equal(actual.sum, expected.sum)) << "the sum has other bits";
  expect_near_or_next(actual.normed, expected.normed, "normed");
  expect_near_or_next(actual.mean, expected.mean, "mean");
  expect_near_or_next(actual.deviation, expected.deviation, "deviation");
  expect_near_or_next(actual.grad_x, expected.grad_x, "gradient of x");
  expect_near_or_next(actual.grad_y, expected.grad_y, "gradient of y");
  expect_near_or_next(actual.grad_gain, expected.grad_gain, "gradient of gain");
  expect_near_or_next(actual.grad_bias, expected.grad_bias, "gradient of bias");
}

void expect_reference_in_all_types(const Case& c) {
  expect_reference<float, float, float>(c);
  expect_reference<float, float, BFloat16>(c);
  expect_reference<float, BFloat16, float>(c);
  expect_reference<float, BFloat16, BFloat16>(c);
  expect_reference<BFloat16, BFloat16, float>(c);
  expect_reference<BFloat16, BFloat16, BFloat16>(c);
}

// Sizes around one vector, four vectors, and the chunks of dropout.
constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 200, 1025};

TEST(AddNorm, MatchesTheReferenceForRowsOfAnySize) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    for (const std::int64_t size : kSizes) {
      expect_reference_in_all_types({5, size, layer_norm(size), 0.3});
      expect_reference_in_all_types({5, size, layer_norm(size)});
      if (size > 1) expect_reference_in_all_types({5, size, std_norm(size), 0.3});
    }
  }
}

TEST(AddNorm, MatchesTheReferenceForAnyNumberOfRows) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    for (const std::int64_t rows : {0, 1, 2, 15, 16, 17, 33, 1100}) {
      expect_reference_in_all_types({rows, 24, std_norm(24), 0.1});
    }
  }
}

TEST(AddNorm, MatchesTheReferenceIfOptionalTensorsAreNull) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    expect_reference_in_all_types({7, 40, layer_norm(40), 0.0, /*has_y=*/false});
    expect_reference_in_all_types({7, 40, layer_norm(40), 0.5, true, /*has_grad_sum=*/false});
    expect_reference_in_all_types({7, 40, std_norm(40), 0.0, true, false, /*has_grad_y=*/false});
  }
}

TEST(AddNorm, MapsARowOfEqualNumbersToTheBiasWithAFiniteGradient) {
  const std::vector<float> x(34, 3.0f);
  const std::vector<float> gain = normal<float>(17, 1);
  const std::vector<float> bias = normal<float>(17, 2);
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    auto normed = not_written(34), mean = not_written(2), deviation = not_written(2);
    auto grad_x = not_written(34), grad_gain = not_written(17), grad_bias = not_written(17);
    add_norm_forward(AddNormForward<float, float, float>{x.data(),
                                                         nullptr,
                                                         gain.data(),
                                                         bias.data(),
                                                         nullptr,
                                                         normed.data(),
                                                         mean.data(),
                                                         deviation.data(),
                                                         2,
                                                         17,
                                                         std_norm(17),
                                                         {}});
    add_norm_backward(AddNormBackward<float, float, float>{x.data(),
                                                           gain.data(),
                                                           mean.data(),
                                                           deviation.data(),
                                                           nullptr,
                                                           gain.data(),
                                                           grad_x.data(),
                                                           nullptr,
                                                           grad_gain.data(),
                                                           grad_bias.data(),
                                                           1,
                                                           17,
                                                           std_norm(17),
                                                           {}});

    EXPECT_TRUE(std::ranges::equal(bias, std::span(normed).first(17)));
    EXPECT_TRUE(std::ranges::equal(bias, std::span(normed).last(17)));
    EXPECT_EQ(deviation, std::vector<float>(2, 0.0f));
    for (const float grad : std::span(grad_x).first(17)) EXPECT_TRUE(std::isfinite(grad));
  }
}

TEST(AddNorm, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const Case c = {1100, 33, layer_norm(33), 0.2};
  set_num_threads(1);
  const auto expected = run<float, float, float>(c, false);
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    const auto actual = run<float, float, float>(c, false);
    EXPECT_EQ(actual.sum, expected.sum);
    EXPECT_EQ(actual.normed, expected.normed);
    EXPECT_EQ(actual.grad_x, expected.grad_x);
    EXPECT_EQ(actual.grad_y, expected.grad_y);
    EXPECT_EQ(actual.grad_gain, expected.grad_gain);
    EXPECT_EQ(actual.grad_bias, expected.grad_bias);
  }
  set_num_threads(threads_before);
}

template <typename X, typename Y>
void expect_bits_of_reference(std::int64_t count, double rate) {
  const auto x = normal<X>(count, 1);
  const auto y = normal<Y>(count, 2);
  auto actual = not_written<X>(x.size());
  auto expected = not_written<X>(x.size());
  const Dropout dropout = {rate, 3, 4};
  add_dropout(AddDropout<X, Y>{x.data(), y.data(), actual.data(), count, dropout});
  reference::add_dropout(AddDropout<X, Y>{x.data(), y.data(), expected.data(), count, dropout});
  ASSERT_TRUE(std::ranges::equal(actual, expected)) << count << " values, rate " << rate;
}

TEST(AddDropout, GivesTheBitsOfTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    for (const std::int64_t count : {0, 1, 7, 15, 16, 17, 33, 1024, 1025, 20'003}) {
      for (const double rate : {0.0, 0.4}) {
        expect_bits_of_reference<float, float>(count, rate);
        expect_bits_of_reference<float, BFloat16>(count, rate);
        expect_bits_of_reference<BFloat16, BFloat16>(count, rate);
        expect_bits_of_reference<double, double>(count, rate);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
