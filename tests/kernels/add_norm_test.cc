// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/norm/add_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/implementations.h"
#include "tests/kernels/near.h"
#include "tests/kernels/random_numbers.h"

// Shapes: T = rows, M = size of a row.
namespace edgewise::kernels {
namespace {

struct Case {
  std::int64_t rows;
  std::int64_t size;
  NormFormula formula;
  double dropout = 0.0;
  bool has_y = true;         // y is not null
  bool has_grad_sum = true;  // grad_sum is not null
  bool has_grad_y = true;    // grad_y is not null
  bool has_bias = true;      // bias and grad_bias are not null
};

NormFormula layer_norm(std::int64_t size) { return NormFormula::layer_norm(static_cast<double>(size), 1e-5); }
NormFormula std_norm(std::int64_t size) { return NormFormula::std_norm(static_cast<double>(size), 1e-5); }
NormFormula rms_norm(std::int64_t size) { return NormFormula::rms_norm(static_cast<double>(size), 1e-5); }

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

template <typename X, typename Y, typename N>
void run_backward(const AddNormBackward<X, Y, N>& p) {
  if constexpr (kTestsGpu) {
    Array<float> workspace(static_cast<std::size_t>(add_norm_backward_workspace(p.num_rows, p.size)));
    add_norm_backward(p, workspace.data(), device::Stream());
  } else {
    add_norm_backward(p);
  }
}

/// Both passes of a case, by the kernels and by the reference.
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

  Results<X, Y, N> run() const {
    const Array<X> x(x_);
    const Array<X> grad_sum(grad_sum_);
    const Array<Y> y(y_);
    const Array<N> grad_normed(grad_normed_);
    const Array<float> gain(gain_);
    const Array<float> bias(bias_);
    Array<X> sum(x_.size()), grad_x(x_.size());
    Array<Y> grad_y(x_.size());
    Array<N> normed(x_.size());
    Array<float> mean(rows()), deviation(rows()), grad_gain(gain_.size()), grad_bias(gain_.size());

    call_kernel([&](auto... stream) {
      add_norm_forward(forward(x.data(), y.data(), gain.data(), bias.data(), sum.data(), normed.data(), mean.data(),
                               deviation.data()),
                       stream...);
    });
    run_backward(backward(case_.has_y ? sum.data() : x.data(), gain.data(), mean.data(), deviation.data(),
                          grad_sum.data(), grad_normed.data(), grad_x.data(), grad_y.data(), grad_gain.data(),
                          grad_bias.data()));
    return {sum.read(),  grad_x.read(),    grad_y.read(),    normed.read(),
            mean.read(), deviation.read(), grad_gain.read(), grad_bias.read()};
  }

  /// The results that a pass does not write have the bytes 0xFF, as those of run().
  Results<X, Y, N> run_reference() const {
    const std::size_t count = x_.size();
    Results<X, Y, N> r = {HostBuffer<X>(count).read(),      HostBuffer<X>(count).read(),
                          HostBuffer<Y>(count).read(),      HostBuffer<N>(count).read(),
                          std::vector<float>(rows()),       std::vector<float>(rows()),
                          std::vector<float>(gain_.size()), HostBuffer<float>(gain_.size()).read()};
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
            case_.has_bias ? bias : nullptr,
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
            case_.has_bias ? grad_bias : nullptr,
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
  const auto actual = problem.run();
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
  if (c.has_bias) {
    expect_near_or_next(actual.grad_bias, expected.grad_bias, "gradient of bias");
  } else {
    ASSERT_TRUE(has_same_bits(actual.grad_bias, expected.grad_bias)) << "the gradient of the bias is written";
  }
}

void expect_reference_in_all_types(const Case& c) {
  expect_reference<float, float, float>(c);
  expect_reference<float, float, BFloat16>(c);
  expect_reference<float, BFloat16, float>(c);
  expect_reference<float, BFloat16, BFloat16>(c);
  expect_reference<BFloat16, BFloat16, float>(c);
  expect_reference<BFloat16, BFloat16, BFloat16>(c);
}

// Around one vector, four vectors, and the chunks of dropout; the emulator is slow.
const std::vector<std::int64_t> kSizes =
    kTestsGpu
        ? std::vector<std::int64_t>{1, 7, 64, 129, 516}
        : std::vector<std::int64_t>{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 200, 1025};

TEST(AddNorm, MatchesTheReferenceForRowsOfAnySize) {
  for_implementations([] {
    for (const std::int64_t size : kSizes) {
      expect_reference_in_all_types({3, size, layer_norm(size), 0.3});
      expect_reference_in_all_types({3, size, layer_norm(size)});
      if (size > 1) expect_reference_in_all_types({3, size, std_norm(size), 0.3});
      expect_reference_in_all_types({3, size, rms_norm(size), 0.3});
    }
    for (const std::int64_t size : {512, 513, 2047, 2048, 8192}) {
      ASSERT_TRUE(can_add_norm(size));
      expect_reference<float, BFloat16, BFloat16>({2, size, std_norm(size), 0.3});
      expect_reference<float, BFloat16, BFloat16>(
          {.rows = 2, .size = size, .formula = rms_norm(size), .has_bias = false});
    }
  });
}

TEST(AddNorm, HasKernelsForGpusForShortRows) {
  EXPECT_FALSE(can_add_norm(2049));
  EXPECT_FALSE(can_add_norm(8196));
}

TEST(AddNorm, MatchesTheReferenceForAnyNumberOfRows) {
  for_implementations([] {
    for (const std::int64_t rows : {0, 1, 2, 9, 15, 16, 17, 33}) {
      expect_reference_in_all_types({rows, 24, std_norm(24), 0.1});
    }
    constexpr std::int64_t kRows = AddNormParts::kMaxParts * AddNormParts::kMinRows + 3;
    expect_reference<BFloat16, BFloat16, BFloat16>({kRows, 4, layer_norm(4), 0.1});
  });
}

TEST(AddNorm, MatchesTheReferenceIfOptionalTensorsAreNull) {
  for_implementations([] {
    expect_reference_in_all_types({9, 40, layer_norm(40), 0.0, /*has_y=*/false});
    expect_reference_in_all_types({9, 40, layer_norm(40), 0.5, true, /*has_grad_sum=*/false});
    expect_reference_in_all_types({9, 40, std_norm(40), 0.0, true, false, /*has_grad_y=*/false});
    for (const std::int64_t size : {40, 67}) {
      for (const NormFormula& formula : {layer_norm(size), rms_norm(size)}) {
        expect_reference_in_all_types({.rows = 9, .size = size, .formula = formula, .has_bias = false});
      }
    }
  });
}

TEST(AddNorm, GivesTheSameBitsInEverySchedule) {
  for (const std::int64_t size : {20, 516, 2052, 67}) {
    const std::int64_t rows = kTestsGpu ? (size > 100 ? 3 : 17) : 1100;
    const Problem<float, BFloat16, BFloat16> problem({rows, size, layer_norm(size), 0.2});
    const auto expected = problem.run();
    for_schedules([&] {
      const auto actual = problem.run();
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

TEST(AddNorm, MapsARowOfEqualNumbersToTheBiasWithAFiniteGradient) {
  for (const std::int64_t size : {17, 20}) {
    const std::vector<float> bias = normal_numbers<float>(size, 2);
    const auto count = static_cast<std::size_t>(size);
    const Array<float> x(std::vector<float>(count, 3.0f)), gain(normal_numbers<float>(size, 1)), bias_M(bias);
    for_implementations([&] {
      Array<float> normed(count), mean(1), deviation(1), grad_x(count), grad_gain(count), grad_bias(count);
      const AddNormForward<float, float, float> forward = {x.data(), nullptr,       gain.data(),    bias_M.data(),
                                                           nullptr,  normed.data(), mean.data(),    deviation.data(),
                                                           1,        size,          std_norm(size), {}};
      call_kernel([&](auto... stream) { add_norm_forward(forward, stream...); });
      run_backward(AddNormBackward<float, float, float>{x.data(),
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
                                                        size,
                                                        std_norm(size),
                                                        {}});

      EXPECT_EQ(normed.read(), bias);
      EXPECT_EQ(deviation.read(), std::vector<float>{0.0f});
      for (const float grad : grad_x.read()) EXPECT_TRUE(std::isfinite(grad));
    });
  }
}

template <typename X, typename Y>
void expect_bits_of_reference(std::int64_t count, double rate) {
  const std::vector<X> x = normal_numbers<X>(count, 1);
  const std::vector<Y> y = normal_numbers<Y>(count, 2);
  const Array<X> x_array(x);
  const Array<Y> y_array(y);
  Array<X> sum(x.size() + 1);
  std::vector<X> expected = sum.read();
  const Dropout dropout = {rate, 3, 4};
  reference::add_dropout(AddDropout<X, Y>{x.data(), y.data(), expected.data(), count, dropout});

  const AddDropout<X, Y> arguments = {x_array.data(), y_array.data(), sum.data(), count, dropout};
  call_kernel([&](auto... stream) { add_dropout(arguments, stream...); });

  ASSERT_TRUE(has_same_bits(sum.read(), expected)) << count << " values, rate " << rate;
}

TEST(AddDropout, GivesTheBitsOfTheReferenceAndWritesNothingElse) {
  for_implementations([] {
    for (const std::int64_t count : {0, 1, 7, 15, 16, 17, 33, 1024, 1025, 4096, 4100, 4101}) {
      for (const double rate : {0.0, 0.4}) {
        expect_bits_of_reference<float, float>(count, rate);
        expect_bits_of_reference<float, BFloat16>(count, rate);
        expect_bits_of_reference<BFloat16, BFloat16>(count, rate);
#ifndef EDGEWISE_TESTS_GPU
        expect_bits_of_reference<double, double>(count, rate);
#endif
      }
    }
  });
}

}  // namespace
}  // namespace edgewise::kernels
