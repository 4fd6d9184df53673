// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/gemm_sizes.h"

namespace edgewise::kernels {
namespace {

/// Random 8-bit rows and a packed 8-bit matrix.
class Int8Problem {
 public:
  Int8Problem(const GemmSizes& sizes, MatrixLayout layout) : sizes_(sizes) {
    RandomStream random(/*seed=*/3);
    for (std::int64_t i = 0; i < sizes.rows * sizes.depth; ++i) {
      a_.push_back(static_cast<std::int8_t>(static_cast<std::int64_t>(random.next_below(255)) - 127));
    }
    std::vector<float> b;
    for (std::int64_t i = 0; i < sizes.depth * sizes.columns; ++i) b.push_back(static_cast<float>(random.normal()));
    packed_.pack({b.data(), layout == MatrixLayout::kRows ? sizes.columns : sizes.depth, layout}, sizes.depth,
                 sizes.columns);
  }

  std::vector<std::int32_t> run(std::int64_t first_row, std::int64_t rows, std::int64_t spare_rows = 0) const {
    std::vector<std::int32_t> out(static_cast<std::size_t>((rows + spare_rows) * sizes_.columns), -1);
    gemm(Gemm<std::int8_t, std::int32_t>{.rows = rows,
                                         .columns = sizes_.columns,
                                         .depth = sizes_.depth,
                                         .a = {a_.data() + first_row * sizes_.depth, sizes_.depth},
                                         .packed_b = &packed_,
                                         .out = out.data(),
                                         .out_stride = sizes_.columns,
                                         .spare_rows = spare_rows});
    out.resize(static_cast<std::size_t>(rows * sizes_.columns));
    return out;
  }

  std::vector<std::int32_t> compute_expected() const {
    const std::vector<float> b = packed_.unpack();
    std::vector<std::int32_t> out;
    for (std::int64_t row = 0; row < sizes_.rows; ++row) {
      for (std::int64_t n = 0; n < sizes_.columns; ++n) {
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < sizes_.depth; ++k) {
          sum += a_[row * sizes_.depth + k] * static_cast<std::int32_t>(b[k * sizes_.columns + n]);
        }
        out.push_back(sum);
      }
    }
    return out;
  }

 private:
  GemmSizes sizes_;
  std::vector<std::int8_t> a_;
  PackedMatrix<std::int8_t> packed_;
};

TEST(GemmOfInt8, EqualsItsDefinitionInEverySize) {
  for (const InstructionSet set : {InstructionSet::kReference, runnable_instruction_sets().back()}) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    for (const GemmSizes& sizes : all_gemm_sizes()) {
      SCOPED_TRACE(name_of(sizes));
      const Int8Problem product(sizes, sizes.rows % 2 == 0 ? MatrixLayout::kRows : MatrixLayout::kColumns);
      ASSERT_EQ(product.run(0, sizes.rows), product.compute_expected());
    }
  }
}

TEST(GemmOfInt8, GivesTheSameSumsWithSpareRows) {
  const Int8Problem product({64, 40, 70}, MatrixLayout::kColumns);
  const std::vector<std::int32_t> all = product.run(0, 64);
  for (const std::int64_t rows : {1, 15, 17, 31, 40}) {
    const std::vector<std::int32_t> some = product.run(0, rows, 16);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows;
  }
}

TEST(PackedMatrix, HoldsEachInt8ColumnWithinHalfAStepOfItsScale) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    RandomStream random(/*seed=*/5);
    std::vector<float> values(40 * 33);
    for (float& value : values) value = static_cast<float>(random.normal());
    for (int k = 0; k < 40; ++k) values[k * 33 + 7] = 0;
    PackedMatrix<std::int8_t> packed;
    packed.pack({values.data(), 33}, /*depth=*/40, /*columns=*/33);

    const std::vector<float> unpacked = packed.unpack();

    for (int k = 0; k < 40; ++k) {
      for (int n = 0; n < 33; ++n) {
        EXPECT_LE(std::abs(unpacked[k * 33 + n]), 127);
        EXPECT_NEAR(unpacked[k * 33 + n] * packed.scales()[n], values[k * 33 + n], 0.501f * packed.scales()[n]);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
