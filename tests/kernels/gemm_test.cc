// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <numbers>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
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
          {.name = "bias, GELU by tanh", .has_bias = true, .activation = GemmActivation::kGeluTanh},
          {.name = "packed, bias, SiLU", .is_packed = true, .has_bias = true, .activation = GemmActivation::kSilu},
          {.name = "transposed left, SiLU", .a = kColumns, .activation = GemmActivation::kSilu},
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
  if (activation == GemmActivation::kSilu) return x / (1 + std::exp(-x));
  if (activation == GemmActivation::kGeluTanh) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
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
    const double* a_row = a_rows_.data() + row * sizes_.depth;
    const double* b_column = b_columns_.data() + column * sizes_.depth;
    for (std::int64_t k = 0; k < sizes_.depth; ++k) {
      const double term = a_row[k] * b_column[k];
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
  // Tests only the best set, because oneDNN cannot change its instructions after its first use.
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

template <class T, class Out>
void expect_same_bits_on_any_number_of_threads(const Form& form, const GemmSizes& sizes) {
  const int threads_before = num_threads();
  const auto run = [](const Gemm<T, Out>& product) { gemm(product); };
  const Problem<T, Out> problem(form, sizes);
  set_num_threads(1);
  const std::vector<Out> expected = problem.run(run);
  for (const int threads : {2, 5}) {
    set_num_threads(threads);
    const std::vector<Out> actual = problem.run(run);
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(Out)), 0)
        << form.name << " on " << threads << " threads";
  }
  set_num_threads(threads_before);
}

TYPED_TEST(GemmOf, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_number_of_threads<typename TypeParam::In, typename TypeParam::Result>(all_forms().front(),
                                                                                                {270, 35, 270});
}

TYPED_TEST(GemmOf, GivesTheSameBitsOnAnyNumberOfThreadsInEveryForm) {
  for (const Form& form : all_forms()) {
    for (const GemmSizes& sizes : {GemmSizes{270, 35, 270}, GemmSizes{70, 600, 530}}) {
      expect_same_bits_on_any_number_of_threads<typename TypeParam::In, typename TypeParam::Result>(form, sizes);
    }
  }
}

TEST(PackedMatrix, HasTheSameContentOnAnyNumberOfThreads) {
  const int threads_before = num_threads();
  RandomStream random(/*seed=*/5);
  std::vector<float> values(700 * 1100);
  for (float& value : values) value = static_cast<float>(random.normal());
  for (const MatrixLayout layout : {MatrixLayout::kRows, MatrixLayout::kColumns}) {
    std::vector<std::vector<float>> unpacked;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      PackedMatrix<float> packed;
      packed.pack({values.data(), layout == MatrixLayout::kRows ? 1100 : 700, layout}, /*depth=*/700, /*columns=*/1100);
      unpacked.push_back(packed.unpack());
    }
    EXPECT_EQ(unpacked[0], unpacked[1]);
    EXPECT_EQ(unpacked[0], unpacked[2]);
    for (std::size_t k = 0; k < 700; k += 33) {
      for (std::size_t n = 0; n < 1100; ++n) {
        ASSERT_EQ(unpacked[0][k * 1100 + n], values[layout == MatrixLayout::kRows ? k * 1100 + n : n * 700 + k]);
      }
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

TEST(OneDnnDeathTest, UsesTheInstructionsOfTheSetThatTheEnvironmentNames) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a new process, in which oneDNN was not used before
  if (!std::ranges::count(runnable_instruction_sets(), InstructionSet::kAvx2)) GTEST_SKIP() << "needs AVX2";
  for (const auto& [name, isa] : {std::pair("avx2", dnnl::cpu_isa::avx2), std::pair("generic", dnnl::cpu_isa::sse41),
                                  std::pair("reference", dnnl::cpu_isa::sse41)}) {
    EXPECT_EXIT(
        {
          ::setenv("EDGEWISE_KERNELS", name, /*overwrite=*/1);
          onednn::has_bf16();
          std::exit(dnnl::get_effective_cpu_isa() == isa ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << name;
  }
}

}  // namespace
}  // namespace edgewise::kernels
