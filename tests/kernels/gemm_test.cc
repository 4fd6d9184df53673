// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm_dispatch.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/gemm_sizes.h"

namespace edgewise::kernels {
namespace {

struct Form {
  std::string name;
  MatrixLayout a = MatrixLayout::kRows;
  MatrixLayout b = MatrixLayout::kRows;
  bool is_packed = false;
  bool has_bias = false;
  GemmActivation activation = GemmActivation::kNone;
  GemmResult result = GemmResult::kWrite;
};

// Returns the products of a linear layer (forward and both gradients), and each option in each layout.
std::vector<Form> all_forms() {
  constexpr auto kColumns = MatrixLayout::kColumns;
  return {{.name = "plain"},
          {.name = "transposed right", .b = kColumns},
          {.name = "transposed left", .a = kColumns},
          {.name = "both transposed", .a = kColumns, .b = kColumns},
          {.name = "packed", .is_packed = true},
          {.name = "packed from columns", .b = kColumns, .is_packed = true},
          {.name = "transposed left, packed", .a = kColumns, .is_packed = true},
          {.name = "bias", .b = kColumns, .has_bias = true},
          {.name = "transposed left, bias", .a = kColumns, .has_bias = true},
          {.name = "bias, ReLU", .is_packed = true, .has_bias = true, .activation = GemmActivation::kRelu},
          {.name = "transposed left, ReLU", .a = kColumns, .activation = GemmActivation::kRelu},
          {.name = "bias, GELU", .has_bias = true, .activation = GemmActivation::kGelu},
          {.name = "add", .b = kColumns, .result = GemmResult::kAdd},
          {.name = "packed, add", .is_packed = true, .result = GemmResult::kAdd},
          {.name = "transposed left, add", .a = kColumns, .result = GemmResult::kAdd},
          {.name = "add with bias", .has_bias = true, .result = GemmResult::kAdd}};
}

/// The memory of a matrix with gaps between its rows; the gaps hold NaN.
template <typename T>
struct StoredMatrix {
  std::vector<T> values;
  std::int64_t stride;
};

template <typename T>
StoredMatrix<T> draw_matrix(std::int64_t rows, std::int64_t width, RandomStream& random) {
  constexpr std::int64_t kGap = 5;
  StoredMatrix<T> matrix{std::vector<T>(static_cast<std::size_t>(rows * (width + kGap)), T(std::nanf(""))),
                         width + kGap};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      matrix.values[row * matrix.stride + i] = T(static_cast<float>(random.normal()));
    }
  }
  return matrix;
}

template <typename T>
StoredMatrix<T> draw_in_layout(MatrixLayout layout, std::int64_t rows, std::int64_t columns, RandomStream& random) {
  return layout == MatrixLayout::kRows ? draw_matrix<T>(rows, columns, random) : draw_matrix<T>(columns, rows, random);
}

template <typename T>
double element(const Matrix<T>& matrix, std::int64_t row, std::int64_t column) {
  const bool is_in_rows = matrix.layout == MatrixLayout::kRows;
  return matrix.data[is_in_rows ? row * matrix.stride + column : column * matrix.stride + row];
}

double activate(double x, GemmActivation activation) {
  if (activation == GemmActivation::kRelu) return std::max(x, 0.0);
  if (activation == GemmActivation::kGelu) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return x;
}

/// The rounding error: half the distance from 1 to the next number.
template <typename T>
constexpr double kRounding = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-8;

/// Random arguments of a product, and its expected result.
template <typename T, typename Out>
class Problem {
 public:
  Problem(const Form& form, const GemmSizes& sizes)
      : form_(form),
        sizes_(sizes),
        a_(draw_in_layout<T>(form.a, sizes.rows, sizes.depth, random_)),
        b_(draw_in_layout<float>(form.b, sizes.depth, sizes.columns, random_)),
        bias_(draw_matrix<float>(1, sizes.columns, random_)),
        out_(draw_matrix<Out>(sizes.rows, sizes.columns, random_)) {
    for (const float value : b_.values) b_rounded_.push_back(T(value));
    for (std::int64_t row = 0; row < sizes.rows; ++row) {
      for (std::int64_t k = 0; k < sizes.depth; ++k) a_rows_.push_back(element(a(), row, k));
    }
    for (std::int64_t column = 0; column < sizes.columns; ++column) {
      for (std::int64_t k = 0; k < sizes.depth; ++k) b_columns_.push_back(element(b(), k, column));
    }
  }

  using Run = std::function<void(const Gemm<T, Out>&)>;

  std::vector<Out> run(const Run& run) const {
    PackedMatrix<T> packed;
    if (form_.is_packed) packed.pack({b_.values.data(), b_.stride, form_.b}, sizes_.depth, sizes_.columns);
    std::vector<Out> out = out_.values;
    run({.rows = sizes_.rows,
         .columns = sizes_.columns,
         .depth = sizes_.depth,
         .a = a(),
         .b = form_.is_packed ? Matrix<T>{} : b(),
         .packed_b = form_.is_packed ? &packed : nullptr,
         .bias = form_.has_bias ? bias_.values.data() : nullptr,
         .activation = form_.activation,
         .result = form_.result,
         .out = out.data(),
         .out_stride = out_.stride});
    return out;
  }

  /// Compares the result with sums in double. Allows the error of float sums in any order, and the rounding to Out.
  void expect_correct(const std::vector<Out>& out) const {
    for (std::int64_t row = 0; row < sizes_.rows; ++row) {
      for (std::int64_t column = 0; column < out_.stride; ++column) {
        const std::int64_t at = row * out_.stride + column;
        if (column >= sizes_.columns) {
          ASSERT_TRUE(std::isnan(static_cast<float>(out[at]))) << "wrote between rows " << row << " and " << row + 1;
          continue;
        }
        const auto [expected, allowed] = compute_expected(row, column);
        ASSERT_LE(std::abs(static_cast<double>(out[at]) - expected), allowed)
            << "at [" << row << ", " << column << "]: " << out[at] << " where the definition has " << expected;
      }
    }
  }

 private:
  Matrix<T> a() const { return {a_.values.data(), a_.stride, form_.a}; }
  Matrix<T> b() const { return {b_rounded_.data(), b_.stride, form_.b}; }

  struct Expected {
    double value, allowed_error;
  };

  Expected compute_expected(std::int64_t row, std::int64_t column) const {
    double sum = form_.has_bias ? bias_.values[column] : 0.0;
    if (form_.result == GemmResult::kAdd) sum += out_.values[row * out_.stride + column];
    double size = std::abs(sum);
    for (std::int64_t k = 0; k < sizes_.depth; ++k) {
      const double term = a_rows_[row * sizes_.depth + k] * b_columns_[column * sizes_.depth + k];
      sum += term;
      size += std::abs(term);
    }
    const double value = activate(sum, form_.activation);
    constexpr double kSteepestActivation = 1.13;  // the largest derivative of an activation
    const auto error_of_sums = static_cast<double>(sizes_.depth + 4) * kRounding<float> * size;
    return {value,
            kSteepestActivation * (error_of_sums + kRounding<Out> * std::max(std::abs(sum), std::abs(value))) + 1e-6};
  }

  RandomStream random_{/*seed=*/7};
  Form form_;
  GemmSizes sizes_;
  StoredMatrix<T> a_;
  StoredMatrix<float> b_;
  std::vector<T> b_rounded_;
  StoredMatrix<float> bias_;
  StoredMatrix<Out> out_;
  std::vector<double> a_rows_, b_columns_;
};

template <typename T, typename Out>
void expect_correct_everywhere(const typename Problem<T, Out>::Run& run) {
  for (const GemmSizes& sizes : all_gemm_sizes()) {
    for (const Form& form : all_forms()) {
      SCOPED_TRACE(form.name + ", " + name_of(sizes));
      const Problem<T, Out> problem(form, sizes);

      problem.expect_correct(problem.run(run));

      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

template <typename Types>
class GemmOf : public testing::Test {};

template <typename T, typename Out>
struct Elements {
  using In = T;
  using Result = Out;
};
using AllElements = testing::Types<Elements<float, float>, Elements<BFloat16, BFloat16>, Elements<BFloat16, float>>;
TYPED_TEST_SUITE(GemmOf, AllElements);

TYPED_TEST(GemmOf, MatchesItsDefinitionInEveryFormAndSize) {
  using T = typename TypeParam::In;
  using Out = typename TypeParam::Result;
  // Tests only the best set, because oneDNN chooses its instructions itself.
  for (const InstructionSet set : {InstructionSet::kReference, runnable_instruction_sets().back()}) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    expect_correct_everywhere<T, Out>([](const Gemm<T, Out>& product) { gemm(product); });
  }
}

TYPED_TEST(GemmOf, GivesTheSameBitsTwice) {
  using T = typename TypeParam::In;
  using Out = typename TypeParam::Result;
  for (const Form& form : all_forms()) {
    const Problem<T, Out> problem(form, {270, 35, 270});
    const auto run = [](const Gemm<T, Out>& product) { gemm(product); };
    const std::vector<Out> first = problem.run(run);
    const std::vector<Out> second = problem.run(run);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(Out)), 0) << form.name;
  }
}

TYPED_TEST(GemmOf, IsAnEmptySumWithoutRowsColumnsOrDepth) {
  using T = typename TypeParam::In;
  using Out = typename TypeParam::Result;
  for (const Form& form : all_forms()) {
    for (const GemmSizes& sizes : {GemmSizes{0, 5, 4}, GemmSizes{5, 0, 4}, GemmSizes{5, 4, 0}}) {
      SCOPED_TRACE(form.name);
      const Problem<T, Out> problem(form, sizes);
      problem.expect_correct(problem.run([](const Gemm<T, Out>& product) { gemm(product); }));
    }
  }
}

TYPED_TEST(GemmOf, IsCorrectForEachNumberOfThreads) {
  using T = typename TypeParam::In;
  using Out = typename TypeParam::Result;
  const int threads_before = num_threads();
  for (const int threads : {1, 3, 2}) {
    set_num_threads(threads);
    for (const Form& form : all_forms()) {
      SCOPED_TRACE(form.name + " on " + std::to_string(threads) + " threads");
      const Problem<T, Out> problem(form, {270, 35, 270});
      problem.expect_correct(problem.run([](const Gemm<T, Out>& product) { gemm(product); }));
    }
  }
  set_num_threads(threads_before);
}

TEST(Gemm, MatchesItsDefinitionInBf16WithBf16InstructionsAndWithFloatInstructions) {
  for (const bool is_native : {false, true}) {
    if (is_native && !onednn::has_bf16()) continue;
    SCOPED_TRACE(is_native);
    const cpu::ForcedNativeBf16 forced(is_native);
    expect_correct_everywhere<BFloat16, BFloat16>([](const Gemm<BFloat16, BFloat16>& product) { gemm(product); });
    expect_correct_everywhere<BFloat16, float>([](const Gemm<BFloat16, float>& product) { gemm(product); });
  }
}

TEST(PackedMatrix, HoldsItsMatrixRoundedToItsType) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    std::vector<float> values(7 * 9);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i) * 0x1p-9f;
    PackedMatrix<BFloat16> packed;
    packed.pack({values.data(), /*stride=*/9, MatrixLayout::kColumns}, /*depth=*/8, /*columns=*/7);

    const std::vector<float> unpacked = packed.unpack();

    ASSERT_EQ(unpacked.size(), 56u);
    for (std::size_t k = 0; k < 8; ++k) {
      for (std::size_t n = 0; n < 7; ++n) EXPECT_EQ(unpacked[k * 7 + n], BFloat16(values[n * 9 + k]));
    }
  }
}

TEST(PackedMatrix, PackedOnOneInstructionSetIsCorrectOnEveryOther) {
  const Form form = {.name = "packed", .is_packed = true};
  for (const InstructionSet packing : runnable_instruction_sets()) {
    for (const InstructionSet multiplying : runnable_instruction_sets()) {
      const ForcedInstructionSet forced(packing);
      const Problem<BFloat16, float> problem(form, {40, 33, 70});
      problem.expect_correct(problem.run([multiplying](const Gemm<BFloat16, float>& product) {
        const ForcedInstructionSet forced_too(multiplying);
        gemm(product);
      }));
    }
  }
}

/// Compares rows of a product with a packed matrix, computed a few at a time and on several threads, with all rows.
template <typename T, typename Out>
void expect_rows_independent_of_each_other(std::int64_t depth, std::int64_t columns, std::int64_t out_stride) {
  constexpr std::int64_t kRows = 530;
  RandomStream random(/*seed=*/11);
  std::vector<T> a(static_cast<std::size_t>(kRows * depth));
  for (T& value : a) value = T(static_cast<float>(random.normal()));
  std::vector<float> b(static_cast<std::size_t>(columns * depth));
  for (float& value : b) value = static_cast<float>(random.normal());
  PackedMatrix<T> packed;
  packed.pack({b.data(), depth, MatrixLayout::kColumns}, depth, columns);

  const auto run = [&](std::int64_t first, std::int64_t rows) {
    std::vector<Out> out(static_cast<std::size_t>(rows * out_stride), Out(0.0f));
    gemm(Gemm<T, Out>{.rows = rows,
                      .columns = columns,
                      .depth = depth,
                      .a = {a.data() + first * depth, depth},
                      .packed_b = &packed,
                      .out = out.data(),
                      .out_stride = out_stride});
    return out;
  };
  const int threads_before = num_threads();
  set_num_threads(2);
  const std::vector<Out> all = run(0, kRows);
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const std::int64_t rows : {1, 2, 3, 4, 15, 16, 17, 32, 100, 256, 300}) {
      const std::int64_t first = (kRows - rows) / 3;
      const std::vector<Out> some = run(first, rows);
      ASSERT_EQ(std::memcmp(some.data(), all.data() + first * out_stride, some.size() * sizeof(Out)), 0)
          << rows << " rows of depth " << depth << " with " << columns << " columns on " << threads << " threads";
    }
  }
  set_num_threads(threads_before);
}

// The batch invariance of translations depends on this property.
TYPED_TEST(GemmOf, GivesARowTheSameBitsWithAnyOtherRowsIfTheMatrixIsPacked) {
  using T = typename TypeParam::In;
  using Out = typename TypeParam::Result;
  for (const auto& [depth, columns] : {std::pair<int, int>{512, 512}, {1024, 256}, {128, 384}, {33, 17}}) {
    expect_rows_independent_of_each_other<T, Out>(depth, columns, columns);
    expect_rows_independent_of_each_other<T, Out>(depth, columns, columns + 128);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace edgewise::kernels
