// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/row_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"

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
    const std::vector<float> b = normal(sizes.columns * sizes.depth, random);
    b_.pack({b.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth, sizes.columns);
    if (has_bias) bias_ = normal(sizes.columns, random);
    a_.resize(static_cast<std::size_t>(kRows * sizes.depth));
    for (T& value : a_) value = draw(random);
    scales_.assign(kRows, 1.0f / 64);
    compute_expected(b);
  }

  std::vector<float> product(std::int64_t first, std::int64_t rows) const {
    std::vector<float> out(static_cast<std::size_t>(rows * sizes_.columns));
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

  const std::vector<float>& expected() const { return expected_; }

  /// Returns the allowed error. 8 bits represent a number with an error of at most 1/254 of the column's largest
  /// number.
  float tolerance() const {
    const auto depth = static_cast<float>(sizes_.depth);
    return std::is_same_v<T, float> ? 1e-5f * depth : std::is_same_v<T, BFloat16> ? 0.01f * depth : 0.02f * depth;
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

  void compute_expected(const std::vector<float>& b) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t n = 0; n < sizes_.columns; ++n) {
        double sum = bias_.empty() ? 0.0 : bias_[n];
        for (std::int64_t k = 0; k < sizes_.depth; ++k) {
          const double factor = std::is_same_v<T, std::int8_t> ? scales_[row] : 1.0f;
          sum += factor * static_cast<float>(a_[row * sizes_.depth + k]) * b[n * sizes_.depth + k];
        }
        if (activation_ == GemmActivation::kRelu) sum = std::max(sum, 0.0);
        if (activation_ == GemmActivation::kGelu) sum *= 0.5 * (1 + std::erf(sum / std::sqrt(2.0)));
        expected_.push_back(static_cast<float>(sum));
      }
    }
  }

  Sizes sizes_;
  GemmActivation activation_;
  RowProductWeights<T> b_;
  std::vector<T> a_;
  std::vector<float> scales_, bias_, expected_;
};

template <typename T>
class RowProductOf : public testing::Test {};
using AllTypes = testing::Types<float, BFloat16, std::int8_t>;
TYPED_TEST_SUITE(RowProductOf, AllTypes);

TYPED_TEST(RowProductOf, MatchesItsDefinitionOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const Sizes& sizes : kAllSizes) {
      for (const auto activation : {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu}) {
        SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(sizes.columns) + " x " +
                     std::to_string(sizes.depth));
        const Problem<TypeParam> problem(sizes, activation != GemmActivation::kNone, activation);
        const std::vector<float> actual = problem.product(0, kRows);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], problem.expected()[i], problem.tolerance()) << "at " << i;
        }
      }
    }
  }
}

/// Expects that the last rows of a problem, computed without the other rows, have the bits that they have among all
/// rows.
template <typename T>
void expect_rows_independent(const Sizes& sizes, std::int64_t row_step) {
  const Problem<T> problem(sizes, /*has_bias=*/true, GemmActivation::kRelu);
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
  }
}

TYPED_TEST(RowProductOf, IsCorrectOnAnyInstructionSetWithWeightsPackedOnAnother) {
  for (const InstructionSet packing : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(packing);
    const Problem<TypeParam> problem({65, 130}, /*has_bias=*/true, GemmActivation::kNone);
    for (const InstructionSet multiplying : runnable_instruction_sets()) {
      const ForcedInstructionSet forced_too(multiplying);
      const std::vector<float> actual = problem.product(0, kRows);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], problem.expected()[i], problem.tolerance()) << "at " << i;
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
    std::vector<float> logits(product.size());
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
