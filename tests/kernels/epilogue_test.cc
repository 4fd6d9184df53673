// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

std::vector<float> random_floats(std::int64_t count, RandomStream& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

struct Operations {
  std::string name;
  bool has_residual = false;
  bool has_norm = false;
  bool has_norm_bias = true;
  bool is_centred = true;
  std::optional<GemmActivation> gate = {};
};

std::vector<Operations> all_operations() {
  return {{.name = "rounding"},
          {.name = "residual", .has_residual = true},
          {.name = "norm", .has_norm = true},
          {.name = "residual and norm", .has_residual = true, .has_norm = true},
          {.name = "norm without bias", .has_norm = true, .has_norm_bias = false},
          {.name = "SwiGLU", .gate = GemmActivation::kSilu},
          {.name = "GEGLU, residual", .has_residual = true, .gate = GemmActivation::kGelu},
          {.name = "GEGLU by tanh, norm", .has_norm = true, .gate = GemmActivation::kGeluTanh},
          {.name = "bilinear", .gate = GemmActivation::kNone},
          {.name = "ReGLU", .gate = GemmActivation::kRelu},
          {.name = "RMS norm", .has_norm = true, .has_norm_bias = false, .is_centred = false}};
}

/// The results of an epilogue, as floats.
struct Results {
  std::vector<float> residual, out, rounded;
};

template <typename T>
class Problem {
 public:
  Problem(std::int64_t rows, std::int64_t columns, const Operations& operations)
      : rows_(rows), columns_(columns), operations_(operations) {
    RandomStream random(/*seed=*/static_cast<std::uint64_t>(columns));
    values_ = random_floats(rows * columns * (operations.gate ? 2 : 1), random);
    gain_ = random_floats(columns, random);
    norm_bias_ = random_floats(columns, random);
    residual_ = random_floats(rows * columns, random);
  }

  template <class Run>
  Results run(Run&& run) const {
    const auto size = static_cast<std::size_t>(rows_ * columns_);
    Results results = {residual_, std::vector<float>(size), std::vector<float>(size)};
    auto rounded = not_written<T>(size);
    std::vector<float> scales(static_cast<std::size_t>(rows_), 1.0f);
    RowEpilogue<T> p = {.rows = rows_, .columns = columns_, .norm = {static_cast<double>(columns_), 1e-5, 1e-6}};
    p.norm.is_centred = operations_.is_centred;
    p.gate = operations_.gate;
    p.values = values_.data();
    if (operations_.has_residual) p.residual = results.residual.data();
    if (operations_.has_norm) {
      p.gain = gain_.data();
      if (operations_.has_norm_bias) p.norm_bias = norm_bias_.data();
    }
    p.out = results.out.data();
    p.rounded = rounded.data();
    if (std::is_same_v<T, std::int8_t>) p.rounded_scale = scales.data();
    run(p);
    for (std::size_t i = 0; i < size; ++i) {
      results.rounded[i] = static_cast<float>(rounded[i]) * scales[i / static_cast<std::size_t>(columns_)];
    }
    return results;
  }

 private:
  std::int64_t rows_, columns_;
  Operations operations_;
  std::vector<float> values_, gain_, norm_bias_, residual_;
};

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(1.0f, std::abs(expected[i]))) << "at " << i;
  }
}

// Returns the allowed rounding error. For 8 bits it is one step of the scale, which makes the row's largest number 127
// steps: another order of sums may round a value to the neighbouring step.
template <typename T>
float tolerance_of(const std::vector<float>& values) {
  if (std::is_same_v<T, float>) return 1e-5f;
  if (std::is_same_v<T, BFloat16>) return 0x1p-8f;
  float size = 0;
  for (const float value : values) size = std::max(size, std::abs(value));
  return 1.01f * size / 127;
}

template <typename T>
class RowEpilogueTo : public testing::Test {};
using AllTypes = testing::Types<float, BFloat16, std::int8_t>;
TYPED_TEST_SUITE(RowEpilogueTo, AllTypes);

TYPED_TEST(RowEpilogueTo, MatchesTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t columns : {1, 7, 15, 16, 17, 64, 100, 512}) {
      for (const Operations& operations : all_operations()) {
        SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + operations.name + ", " + std::to_string(columns));
        const Problem<TypeParam> problem(5, columns, operations);
        const Results expected = problem.run([](const auto& p) { reference::apply_epilogue(p); });
        const Results actual = problem.run([](const auto& p) { apply_epilogue(p); });
        expect_near(actual.residual, expected.residual, 1e-5f);
        // The norm of a single column divides a rounding error by the smallest allowed deviation.
        if (columns == 1 && operations.has_norm) continue;
        expect_near(actual.out, expected.out, 1e-4f);
        expect_near(actual.rounded, expected.out, 1e-4f + tolerance_of<TypeParam>(expected.out));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(RowEpilogue, RoundsARowOfZerosToZerosWithScaleZero) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    const std::vector<float> zeros(40);
    std::vector<std::int8_t> rounded(40, 1);
    float scale = 1;
    apply_epilogue(RowEpilogue<std::int8_t>{
        .rows = 1, .columns = 40, .values = zeros.data(), .rounded = rounded.data(), .rounded_scale = &scale});
    EXPECT_EQ(scale, 0);
    EXPECT_EQ(rounded, std::vector<std::int8_t>(40, 0));
  }
}

}  // namespace
}  // namespace edgewise::kernels
