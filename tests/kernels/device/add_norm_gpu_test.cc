// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "edgewise/kernels/norm/add_norm.h"
#include "tests/kernels/device/random_numbers.h"
#include "tests/kernels/device/schedules.h"
#include "tests/kernels/near.h"
#include "tests/support/device_buffer.h"

// Shapes: T = rows, M = size of a row.
namespace edgewise::kernels {
namespace {

using device::Buffer;

struct Case {
  std::int64_t rows;
  std::int64_t size;
  NormFormula formula;
  double dropout = 0.0;
  bool has_y = true;         // y is not null
  bool has_grad_sum = true;  // grad_sum is not null
  bool has_grad_y = true;    // grad_y is not null
};

NormFormula layer_norm(std::int64_t size) { return NormFormula::layer_norm(static_cast<double>(size), 1e-5); }
NormFormula std_norm(std::int64_t size) { return NormFormula::std_norm(static_cast<double>(size), 1e-5); }

std::string describe(const Case& c) {
  return std::to_string(c.rows) + " rows of " + std::to_string(c.size) + ", dropout " + std::to_string(c.dropout);
}

template <typename X, typename Y, typename N>
struct Results {
  std::vector<X> sum, grad_x;
  std::vector<Y> grad_y;
  std::vector<N> normed;
  std::vector<float> mean, deviation, grad_gain, grad_bias;
};

/// Both passes of a case, on the device and by the reference.
template <typename X, typename Y, typename N>
class Problem {
 public:
  explicit Problem(const Case& c)
      : case_(c),
        x_(normal_numbers<X>(c.rows * c.size, 1)),
        y_(normal_numbers<Y>(c.rows * c.size, 2)),
        gain_(normal_numbers<float>(c.size, 3)),
        bias_(normal_numbers<float>(c.size, 4)),
        grad_sum_(normal_numbers<X>(c.rows * c.size, 5)),
        grad_normed_(normal_numbers<N>(c.rows * c.size, 6)) {}

  Results<X, Y, N> run_on_device() const {
    const Buffer<X> x(x_);
    const Buffer<X> grad_sum(grad_sum_);
    const Buffer<Y> y(y_);
    const Buffer<N> grad_normed(grad_normed_);
    const Buffer<float> gain(gain_);
    const Buffer<float> bias(bias_);
    Buffer<X> sum(x_.size()), grad_x(x_.size());
    Buffer<Y> grad_y(x_.size());
    Buffer<N> normed(x_.size());
    Buffer<float> mean(rows()), deviation(rows()), grad_gain(gain_.size()), grad_bias(gain_.size());
    Buffer<float> workspace(static_cast<std::size_t>(add_norm_backward_workspace(case_.rows, case_.size)));

    add_norm_forward(
        forward(x.data(), y.data(), gain.data(), bias.data(), sum.data(), normed.data(), mean.data(), deviation.data()),
        device::Stream());
    add_norm_backward(
        backward(case_.has_y ? sum.data() : x.data(), gain.data(), mean.data(), deviation.data(), grad_sum.data(),
                 grad_normed.data(), grad_x.data(), grad_y.data(), grad_gain.data(), grad_bias.data()),
        workspace.data(), device::Stream());
    return {sum.read(),  grad_x.read(),    grad_y.read(),    normed.read(),
            mean.read(), deviation.read(), grad_gain.read(), grad_bias.read()};
  }

  /// The results that a pass does not write have the bytes 0xFF, as on the device.
  Results<X, Y, N> run_reference() const {
    const std::size_t count = x_.size();
    Results<X, Y, N> r = {Buffer<X>(count).read(),          Buffer<X>(count).read(),         Buffer<Y>(count).read(),
                          Buffer<N>(count).read(),          std::vector<float>(rows()),      std::vector<float>(rows()),
                          std::vector<float>(gain_.size()), std::vector<float>(gain_.size())};
    reference::add_norm_forward(forward(x_.data(), y_.data(), gain_.data(), bias_.data(), r.sum.data(), r.normed.data(),
                                        r.mean.data(), r.deviation.data()));
    reference::add_norm_backward(backward(case_.has_y ? r.sum.data() : x_.data(), gain_.data(), r.mean.data(),
                                          r.deviation.data(), grad_sum_.data(), grad_normed_.data(), r.grad_x.data(),
                                          r.grad_y.data(), r.grad_gain.data(), r.grad_bias.data()));
    return r;
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(case_.rows); }
  Dropout dropout() const { return {case_.dropout, 7, 8}; }

  AddNormForward<X, Y, N> forward(const X* x, const Y* y, const float* gain, const float* bias, X* sum, N* normed,
                                  float* mean, float* deviation) const {
    return {x,
            case_.has_y ? y : nullptr,
            gain,
            bias,
            sum,
            normed,
            mean,
            deviation,
            case_.rows,
            case_.size,
            case_.formula,
            dropout()};
  }

  AddNormBackward<X, Y, N> backward(const X* sum, const float* gain, const float* mean, const float* deviation,
                                    const X* grad_sum, const N* grad_normed, X* grad_x, Y* grad_y, float* grad_gain,
                                    float* grad_bias) const {
    return {sum,
            gain,
            mean,
            deviation,
            case_.has_grad_sum ? grad_sum : nullptr,
            grad_normed,
            grad_x,
            case_.has_grad_y ? grad_y : nullptr,
            grad_gain,
            grad_bias,
            case_.rows,
            case_.size,
            case_.formula,
            dropout()};
  }

  Case case_;
  std::vector<X> x_;
  std::vector<Y> y_;
  std::vector<float> gain_, bias_;
  std::vector<X> grad_sum_;
  std::vector<N> grad_normed_;
};

/// Allows the rounding of both results: a sum in another order may round to the next number of type T.
template <typename T>
void expect_near_or_next(const std::vector<T>& actual, const std::vector<T>& expected, const std::string& what) {
  expect_near(actual, std::vector<double>(expected.begin(), expected.end()), what,
              {.rounding = 2 * kTolerance<T>.rounding, .sums = kTolerance<float>.sums});
}

template <typename X, typename Y, typename N>
void expect_reference(const Case& c) {
  SCOPED_TRACE(describe(c));
  const Problem<X, Y, N> problem(c);
  const auto actual = problem.run_on_device();
  const auto expected = problem.run_reference();
  ASSERT_TRUE(has_same_bits(actual.sum, expected.sum)) << "the sum has other bits";
  expect_near_or_next(actual.normed, expected.normed, "normed");
  expect_near_or_next(actual.mean, expected.mean, "mean");
  expect_near_or_next(actual.deviation, expected.deviation, "deviation");
  expect_near_or_next(actual.grad_x, expected.grad_x, "gradient of x");
  if (c.has_grad_y) {
    expect_near_or_next(actual.grad_y, expected.grad_y, "gradient of y");
  } else {
    ASSERT_TRUE(has_same_bits(actual.grad_y, expected.grad_y)) << "the gradient of y is written";
  }
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

TEST(AddNormOnGpu, MatchesTheReferenceForRowsOfAnySize) {
  for (const std::int64_t size : {1, 7, 64, 129, 516}) {
    expect_reference_in_all_types({3, size, layer_norm(size), 0.3});
  }
  for (const std::int64_t size : {512, 513, 2047, 2048, 8192}) {
    ASSERT_TRUE(can_add_norm(size));
    expect_reference<float, BFloat16, BFloat16>({2, size, std_norm(size), 0.3});
  }
  EXPECT_FALSE(can_add_norm(2049));
  EXPECT_FALSE(can_add_norm(8196));
}

TEST(AddNormOnGpu, MatchesTheReferenceForAnyNumberOfRows) {
  for (const std::int64_t rows : {0, 1, 9}) expect_reference_in_all_types({rows, 24, std_norm(24), 0.1});
  constexpr std::int64_t kRows = AddNormParts::kMaxParts * AddNormParts::kMinRows + 3;
  expect_reference<BFloat16, BFloat16, BFloat16>({kRows, 4, layer_norm(4), 0.1});
}

TEST(AddNormOnGpu, MatchesTheReferenceIfOptionalTensorsAreNull) {
  expect_reference_in_all_types({9, 40, layer_norm(40), 0.0, /*has_y=*/false});
  expect_reference_in_all_types({9, 40, layer_norm(40), 0.5, true, /*has_grad_sum=*/false});
  expect_reference_in_all_types({9, 40, std_norm(40), 0.0, true, false, /*has_grad_y=*/false});
}

TEST(AddNormOnGpu, GivesTheSameBitsInEverySchedule) {
  for (const std::int64_t size : {20, 516, 2052, 67}) {
    const Problem<float, BFloat16, BFloat16> problem({size > 100 ? 3 : 17, size, layer_norm(size), 0.2});
    const auto expected = problem.run_on_device();
    gpu::for_each_schedule([&] {
      const auto actual = problem.run_on_device();
      EXPECT_EQ(actual.sum, expected.sum);
      EXPECT_EQ(actual.normed, expected.normed);
      EXPECT_EQ(actual.mean, expected.mean);
      EXPECT_EQ(actual.deviation, expected.deviation);
      EXPECT_EQ(actual.grad_x, expected.grad_x);
      EXPECT_EQ(actual.grad_y, expected.grad_y);
      EXPECT_EQ(actual.grad_gain, expected.grad_gain);
      EXPECT_EQ(actual.grad_bias, expected.grad_bias);
    });
  }
}

TEST(AddNormOnGpu, MapsARowOfEqualNumbersToTheBiasWithAFiniteGradient) {
  constexpr std::int64_t kSize = 20;
  const std::vector<float> bias = normal_numbers<float>(kSize, 2);
  const Buffer<float> x(std::vector<float>(kSize, 3.0f)), gain(normal_numbers<float>(kSize, 1)), bias_M(bias);
  Buffer<float> normed(kSize), mean(1), deviation(1), grad_x(kSize), grad_gain(kSize), grad_bias(kSize);
  Buffer<float> workspace(static_cast<std::size_t>(add_norm_backward_workspace(1, kSize)));
  add_norm_forward(AddNormForward<float, float, float>{x.data(),
                                                       nullptr,
                                                       gain.data(),
                                                       bias_M.data(),
                                                       nullptr,
                                                       normed.data(),
                                                       mean.data(),
                                                       deviation.data(),
                                                       1,
                                                       kSize,
                                                       std_norm(kSize),
                                                       {}},
                   device::Stream());
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
                                                         kSize,
                                                         std_norm(kSize),
                                                         {}},
                    workspace.data(), device::Stream());

  EXPECT_EQ(normed.read(), bias);
  EXPECT_EQ(deviation.read(), std::vector<float>{0.0f});
  for (const float grad : grad_x.read()) EXPECT_TRUE(std::isfinite(grad));
}

template <typename X, typename Y>
void expect_bits_of_reference(std::int64_t count, double rate) {
  const std::vector<X> x = normal_numbers<X>(count, 1);
  const std::vector<Y> y = normal_numbers<Y>(count, 2);
  const Buffer<X> x_buffer(x);
  const Buffer<Y> y_buffer(y);
  Buffer<X> sum(x.size() + 1);
  std::vector<X> expected = sum.read();
  const Dropout dropout = {rate, 3, 4};
  reference::add_dropout(AddDropout<X, Y>{x.data(), y.data(), expected.data(), count, dropout});

  add_dropout(AddDropout<X, Y>{x_buffer.data(), y_buffer.data(), sum.data(), count, dropout}, device::Stream());

  ASSERT_TRUE(has_same_bits(sum.read(), expected)) << count << " values, rate " << rate;
}

TEST(AddDropoutOnGpu, GivesTheBitsOfTheReferenceAndWritesNothingElse) {
  for (const std::int64_t count : {0, 1, 7, 16, 33, 4096, 4100, 4101}) {
    for (const double rate : {0.0, 0.4}) {
      expect_bits_of_reference<float, float>(count, rate);
      expect_bits_of_reference<float, BFloat16>(count, rate);
      expect_bits_of_reference<BFloat16, BFloat16>(count, rate);
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
