// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/row_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"
#include "tests/support/error_of.h"

namespace edgewise::kernels {
namespace {

struct Sizes {
  std::int64_t columns, depth;
};

// Sizes around the sizes of vectors, of panels, and of the depth that one instruction multiplies.
constexpr Sizes kAllSizes[] = {{1, 1}, {16, 4}, {33, 7}, {64, 64}, {65, 130}, {200, 97}, {5, 0}, {0, 5}};
constexpr std::int64_t kRows = 70;

/// Random rows of T, a random matrix, and their product computed in double from the rounded rows.
template <typename T>
class Problem {
 public:
  Problem(const Sizes& sizes, bool has_bias, GemmActivation activation) : sizes_(sizes), activation_(activation) {
    RandomStream random(/*seed=*/static_cast<std::uint64_t>(sizes.columns));
    matrix_ = normal(sizes.columns * sizes.depth, random);
    b_.pack({matrix_.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth, sizes.columns);
    if (has_bias) bias_ = normal(sizes.columns, random);
    a_.resize(static_cast<std::size_t>(kRows * sizes.depth));
    for (T& value : a_) value = draw(random);
    scales_.assign(kRows, 1.0f / 64);
  }

  std::vector<float> product(std::int64_t first, std::int64_t rows) const {
    auto out = not_written(rows * sizes_.columns);
    multiply_rows(row_product(first, rows), out.data());
    return out;
  }

  RowProduct<T> row_product(std::int64_t first, std::int64_t rows) const {
    return {.rows = rows,
            .a = a_.data() + first * sizes_.depth,
            .scales = scales_.data() + first,
            .b = &b_,
            .bias = bias_.empty() ? nullptr : bias_.data(),
            .activation = activation_};
  }

  void expect_near(const std::vector<float>& actual) {
    if (expected_.empty()) compute_expected();
    for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected_[i], allowed_[i]) << "at " << i;
  }

 private:
  static std::vector<float> normal(std::int64_t count, RandomStream& random) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(random.normal());
    return values;
  }

  static T draw(RandomStream& random) {
    if constexpr (std::is_same_v<T, std::int8_t>) {
      return static_cast<T>(static_cast<std::int64_t>(random.next_below(255)) - 127);
    } else {
      return T(static_cast<float>(random.normal()));
    }
  }

  /// Returns the largest error of an element of b in T: in 8 bits, half of 1/127 of the column's largest magnitude.
  static double rounding_error(float element, double largest) {
    if (std::is_same_v<T, std::int8_t>) return largest / 254;
    return std::is_same_v<T, BFloat16> ? 0x1p-8 * std::abs(element) : 0.0;
  }

  void compute_expected() {
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t n = 0; n < sizes_.columns; ++n) {
        compute_element(a_.data() + row * sizes_.depth, std::is_same_v<T, std::int8_t> ? scales_[row] : 1.0f,
                        matrix_.data() + n * sizes_.depth, bias_.empty() ? 0.0f : bias_[n]);
      }
    }
  }

  /// Computes an element and its allowed error. The errors of the terms are independent, so their sum is about the root
  /// of the sum of their squares, and the error of a float sum is epsilon times this root times the root of the depth.
  void compute_element(const T* a, float scale, const float* column, float bias) {
    double largest = 0;
    for (std::int64_t k = 0; k < sizes_.depth; ++k) largest = std::max<double>(largest, std::abs(column[k]));
    double sum = bias;
    double squares = bias * bias;
    double squared_errors = 0;
    for (std::int64_t k = 0; k < sizes_.depth; ++k) {
      const double factor = scale * static_cast<float>(a[k]);
      const double term = factor * column[k];
      const double error = factor * rounding_error(column[k], largest);
      sum += term;
      squares += term * term;
      squared_errors += error * error;
    }
    constexpr double kSteepestActivation = 1.13;  // the largest derivative of an activation
    const auto count = static_cast<double>(sizes_.depth + 1);
    const double error_of_sum = std::numeric_limits<float>::epsilon() * std::sqrt(count * squares);
    allowed_.push_back(kSteepestActivation * (4 * std::sqrt(squared_errors) + 3 * error_of_sum));
    if (activation_ == GemmActivation::kRelu) sum = std::max(sum, 0.0);
    if (activation_ == GemmActivation::kGelu) sum *= 0.5 * (1 + std::erf(sum / std::sqrt(2.0)));
    if (activation_ == GemmActivation::kSilu) sum /= 1 + std::exp(-sum);
    if (activation_ == GemmActivation::kGeluTanh) {
      sum *= 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (sum + 0.044715 * sum * sum * sum)));
    }
    expected_.push_back(sum);
  }

  Sizes sizes_;
  GemmActivation activation_;
  std::vector<float> matrix_;
  RowProductWeights<T> b_;
  std::vector<T> a_;
  std::vector<float> scales_, bias_;
  std::vector<double> expected_, allowed_;
};

template <typename T>
class RowProductOf : public testing::Test {};
using AllTypes = testing::Types<float, BFloat16, std::int8_t>;
TYPED_TEST_SUITE(RowProductOf, AllTypes);

TYPED_TEST(RowProductOf, MatchesItsDefinitionOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const Sizes& sizes : kAllSizes) {
      for (const auto activation : {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu,
                                    GemmActivation::kSilu, GemmActivation::kGeluTanh}) {
        SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(sizes.columns) + " x " +
                     std::to_string(sizes.depth));
        Problem<TypeParam> problem(sizes, activation != GemmActivation::kNone, activation);
        problem.expect_near(problem.product(0, kRows));
      }
    }
  }
}

TYPED_TEST(RowProductOf, HasTheBitsOfCopiedColumnsOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const auto& [columns, depth] : kAllSizes) {
      if (columns == 0) continue;
      const Problem<TypeParam> problem({columns, depth}, /*has_bias=*/false, GemmActivation::kNone);
      const std::vector<float> whole = problem.product(0, kRows);
      for (const std::int64_t copied : {1, 70, 256}) {
        SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(copied) + " of " +
                     std::to_string(columns) + " x " + std::to_string(depth));
        const auto source_of = [&](std::int64_t n) { return n % 5 == 3 ? -1 : n * 7 % columns; };
        RowProduct<TypeParam> product = problem.row_product(0, kRows);
        RowProductWeights<TypeParam> copies;
        copies.allocate_like(*product.b, copied);
        for (std::int64_t n = 0; n < copied; ++n) {
          if (source_of(n) >= 0) copies.copy_column(n, *product.b, source_of(n));
        }
        product.b = &copies;
        auto found = not_written(kRows * copied);
        multiply_rows(product, found.data());
        for (std::int64_t i = 0; i < kRows * copied; ++i) {
          const std::int64_t source = source_of(i % copied);
          ASSERT_EQ(found[i], source < 0 ? 0 : whole[i / copied * columns + source]) << "at " << i;
        }
      }
    }
  }
}

/// Expects that the last rows of a problem, computed without the other rows, have the bits that they have among all
/// rows.
template <typename T>
void expect_rows_independent(const Sizes& sizes, std::int64_t row_step,
                             GemmActivation activation = GemmActivation::kRelu) {
  const Problem<T> problem(sizes, /*has_bias=*/true, activation);
  const int threads_before = num_threads();
  set_num_threads(1);
  const std::vector<float> all = problem.product(0, kRows);
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (std::int64_t rows = 1; rows <= kRows; rows += row_step) {
      const std::vector<float> last = problem.product(kRows - rows, rows);
      EXPECT_TRUE(std::equal(last.begin(), last.end(), all.end() - std::ssize(last)))
          << rows << " rows of " << sizes.columns << " x " << sizes.depth << " on " << threads << " threads";
    }
  }
  set_num_threads(threads_before);
}

// The batch invariance of translations depends on this property.
TYPED_TEST(RowProductOf, GivesARowTheSameBitsWithAnyOtherRowsAndOnAnyNumberOfThreadsOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    expect_rows_independent<TypeParam>({65, 130}, 1);
    expect_rows_independent<TypeParam>({33, 301}, 1);
    expect_rows_independent<TypeParam>({320, 256}, 23);  // large enough for several threads
    expect_rows_independent<TypeParam>({320, 256}, 23, GemmActivation::kSilu);
  }
}

/// Writes the products of all problems with rows of the first one by one call, and expects the bits of single calls.
template <typename T>
void expect_same_bits_of_all(std::int64_t rows) {
  const Problem<T> first({192, 256}, /*has_bias=*/true, GemmActivation::kNone);
  const Problem<T> second({65, 256}, /*has_bias=*/false, GemmActivation::kSilu);
  const Problem<T> third({700, 256}, /*has_bias=*/true, GemmActivation::kRelu);
  std::vector<RowProduct<T>> products;
  std::vector<float> expected;
  for (const Problem<T>* problem : {&first, &second, &third, &first}) {
    RowProduct<T>& product = products.emplace_back(problem->row_product(0, rows));
    product.a = products.front().a;
    product.scales = products.front().scales;
    auto one = not_written(rows * product.b->columns());
    multiply_rows(product, one.data());
    expected.insert(expected.end(), one.begin(), one.end());
  }
  for (const int threads : {1, 2, 3}) {
    const NumThreadsScope scope(threads);
    auto all = not_written(expected.size());
    multiply_all<T>(products, all.data());
    EXPECT_EQ(all, expected) << rows << " rows on " << threads << " threads";
  }
}

TYPED_TEST(RowProductOf, HasTheSameBitsInASeriesOfProductsOnAnyNumberOfThreadsOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    for (const std::int64_t rows : {0, 1, 4, 47}) expect_same_bits_of_all<TypeParam>(rows);
  }
}

TYPED_TEST(RowProductOf, IsCorrectOnAnyInstructionSetWithWeightsPackedOnAnother) {
  for (const InstructionSet packing : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(packing);
    Problem<TypeParam> problem({65, 130}, /*has_bias=*/true, GemmActivation::kNone);
    for (const InstructionSet multiplying : runnable_instruction_sets()) {
      const ForcedInstructionSet forced_too(multiplying);
      problem.expect_near(problem.product(0, kRows));
    }
  }
}

template <typename T>
std::vector<float> multiply(const RowProductWeights<T>& weights, const std::vector<T>& a, std::int64_t rows) {
  const std::vector<float> scales(static_cast<std::size_t>(rows), 0.25f);
  auto out = not_written(rows * weights.columns());
  multiply_rows(RowProduct<T>{.rows = rows, .a = a.data(), .scales = scales.data(), .b = &weights}, out.data());
  return out;
}

/// Packs bf16 numbers as they are and as floats, and expects the same bits of a product.
template <typename T>
void expect_same_product_of_bf16(const Sizes& sizes) {
  RandomStream random(/*seed=*/3);
  std::vector<BFloat16> exact;
  for (std::int64_t i = 0; i < sizes.columns * sizes.depth; ++i) {
    exact.emplace_back(static_cast<float>(random.normal()));
  }
  const std::vector<float> floats(exact.begin(), exact.end());
  std::vector<T> a;
  for (std::int64_t i = 0; i < 5 * sizes.depth; ++i) a.push_back(T(static_cast<float>(random.normal())));
  RowProductWeights<T> from_exact, from_floats;
  from_exact.pack_exactly(Matrix<BFloat16>{exact.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth,
                          sizes.columns);
  from_floats.pack({floats.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth, sizes.columns);
  EXPECT_EQ(multiply(from_exact, a, 5), multiply(from_floats, a, 5));
}

TEST(RowProductWeights, PackBf16NumbersUnchangedOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    for (const Sizes& sizes : kAllSizes) {
      if (sizes.depth == 0) continue;
      expect_same_product_of_bf16<float>(sizes);
      expect_same_product_of_bf16<BFloat16>(sizes);
    }
  }
}

TEST(RowProductWeights, RefuseADepthAtWhichSumsOf8BitNumbersMayOverflow) {
  const std::vector<std::int8_t> smallest(kMaxInt8Depth + 1, -128);
  const std::vector<std::int8_t> largest(kMaxInt8Depth, 127);
  const float scale = 1.0f;
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    RowProductWeights<std::int8_t> weights;
    auto pack = [&](std::int64_t depth) {
      weights.pack_exactly(Matrix<std::int8_t>{smallest.data(), depth, MatrixLayout::kColumns}, depth, 1, {&scale, 1});
    };
    EXPECT_EQ(error_of([&] { pack(kMaxInt8Depth + 1); }),
              "RowProductWeights: a matrix has 131072 rows, needs at most 131071 as 8-bit numbers; choose another "
              "precision");
    pack(kMaxInt8Depth);
    EXPECT_EQ(multiply(weights, largest, 1).at(0), static_cast<float>(-127.0 * 128.0 * kMaxInt8Depth) * 0.25f);
  }
}

// The numbers are far below 127, so that dividing them by scales of another choice would round them.
TEST(RowProductWeights, PackNumbersOf8BitsUnchangedWithTheirScalesOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    for (const auto& [columns, depth] : kAllSizes) {
      if (depth == 0 || columns == 0) continue;
      std::vector<std::int8_t> a, b;
      for (std::int64_t i = 0; i < 3 * depth; ++i) a.push_back(static_cast<std::int8_t>(i % 255 - 127));
      for (std::int64_t i = 0; i < columns * depth; ++i) b.push_back(static_cast<std::int8_t>(i % 11 - 5));
      b.front() = -128;
      std::vector<float> scales;
      for (std::int64_t n = 0; n < columns; ++n) scales.push_back(std::ldexp(1.0f, static_cast<int>(n % 5)));
      RowProductWeights<std::int8_t> weights;
      weights.pack_exactly(Matrix<std::int8_t>{b.data(), depth, MatrixLayout::kColumns}, depth, columns, scales);
      const std::vector<float> out = multiply(weights, a, 3);
      for (std::int64_t i = 0; i < std::ssize(out); ++i) {
        const std::int64_t row = i / columns;
        const std::int64_t n = i % columns;
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += std::int64_t{a[row * depth + k]} * b[n * depth + k];
        ASSERT_EQ(out[i], static_cast<float>(sum) * scales[n] * 0.25f) << columns << " x " << depth << ", at " << i;
      }
    }
  }
}

TYPED_TEST(RowProductOf, GivesTheSameBitsAloneAndFusedWithAnEpilogueOrAReduction) {
  const int threads_before = num_threads();
  constexpr Sizes kSizes = {96, 40};
  const Problem<TypeParam> problem(kSizes, /*has_bias=*/true, GemmActivation::kNone);
  const std::vector<float> product = problem.product(0, kRows);
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    std::vector<float> residual(product.size(), 1.0f), expected(product.size());
    multiply_with_epilogue<TypeParam>(problem.row_product(0, kRows),
                                      {.rows = kRows, .columns = kSizes.columns, .residual = residual.data()});
    for (std::size_t i = 0; i < product.size(); ++i) expected[i] = 1.0f + product[i];
    EXPECT_EQ(residual, expected);

    std::vector<LogSumExpTopK> accumulators(kRows);
    auto logits = not_written(product.size());
    for (std::int64_t row = 0; row < kRows; ++row) accumulators[row].logits_out = logits.data() + row * kSizes.columns;
    multiply_and_reduce<TypeParam>(
        problem.row_product(0, kRows),
        {.rows = kRows, .columns = kSizes.columns, .first_token = 0, .accumulators = accumulators.data()});
    EXPECT_EQ(logits, product);
  }
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise::kernels
