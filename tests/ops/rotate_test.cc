// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/rotate.h"

#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/positions/position_formula.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

const std::vector<std::int64_t> kTableRows = {4, 0, 2, 2, 1};

/// Returns the table of 5 positions.
at::Tensor table_of(std::int64_t head_size, double base, at::ScalarType type = at::kDouble) {
  at::Tensor table = at::empty({5, head_size}, at::kDouble);
  for (std::int64_t position = 0; position < 5; ++position) {
    PositionFormula::rotation(head_size, {.base = base})
        .write(position, table.data_ptr<double>() + position * head_size);
  }
  return table.to(type).to(test_device());
}

TEST(Rotate, MultipliesPairsAsComplexNumbers) {
  const at::Tensor x = normal({5, 3, 8}, 1);

  const at::Tensor y = rotate(x, table_of(8, 100.0), kTableRows);

  for (std::int64_t n = 0; n < 5; ++n) {
    for (std::int64_t k = 0; k < 4; ++k) {
      const double frequency = std::pow(100.0, static_cast<double>(-k) / 4.0);
      const double angle = static_cast<double>(kTableRows[static_cast<std::size_t>(n)]) * frequency;
      const at::Tensor first = x[n].select(1, k);
      const at::Tensor second = x[n].select(1, k + 4);
      expect_close(y[n].select(1, k), first * std::cos(angle) - second * std::sin(angle), "real part");
      expect_close(y[n].select(1, k + 4), first * std::sin(angle) + second * std::cos(angle), "imaginary part");
    }
  }
}

TEST(Rotate, KeepsDotProductsOfEqualDistances) {
  const at::Tensor x = normal({2, 1, 8}, 1);
  const at::Tensor table = table_of(8, 10000.0);
  const auto product = [&](const std::vector<std::int64_t>& rows) {
    const at::Tensor y = rotate(x, table, rows);
    return (y[0] * y[1]).sum();
  };
  expect_close(product({3, 1}), product({4, 2}), "product");
}

TEST(Rotate, MatchesItsDefinitionForEveryInstructionSet) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      const at::Tensor table = table_of(18, 10000.0, type == at::kDouble ? at::kDouble : at::kFloat);
      const Tensors x = {normal({5, 18, 3}, 1, type).transpose(1, 2)};
      const auto actual = output_and_gradients([&](const Tensors& t) { return rotate(t[0], table, kTableRows); }, x);
      const auto expected =
          output_and_gradients([&](const Tensors& t) { return rotate_plain(t[0], table, kTableRows); }, x);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expect_close(actual[i].to(at::kDouble), expected[i].to(at::kDouble), "result",
                     type == at::kBFloat16 ? 0x1p-7 : tolerance(type));
      }
    }
  }
}

TEST(Rotate, HasGradientsThatMatchFiniteDifferences) {
  expect_gradients_match([](const Tensors& x) { return rotate(x[0], table_of(6, 100.0), kTableRows); },
                         {normal({5, 2, 6}, 1)});
}

TEST(Rotate, NeedsEvenHeadsAndRowsOfTheTable) {
  const at::Tensor table = table_of(6, 100.0);
  EXPECT_EQ(error_of([&] {
              rotate(normal({5, 2, 5}, 1), table, kTableRows);
            }),
            "rotate: x has heads of 5 numbers, needs an even size");
  EXPECT_EQ(error_of([&] {
              rotate(normal({5, 2, 4}, 1), table, kTableRows);
            }),
            "rotate: table is [5, 6], needs [P, 4]");
  EXPECT_EQ(error_of([&] {
              rotate(normal({4, 2, 6}, 1), table, kTableRows);
            }),
            "rotate: there are 5 rows, needs one for each of 4 nodes");
  EXPECT_EQ(error_of([&] {
              rotate(normal({1, 2, 6}, 1), table, std::vector<std::int64_t>{5});
            }),
            "rotate: a row is 5, needs a number in [0, 5)");
}

}  // namespace
}  // namespace edgewise
