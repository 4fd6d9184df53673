// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/doctor/kernel_tests.h"
#include "edgewise/doctor/random_numbers.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/row_product.h"

namespace edgewise {
namespace {

using kernels::Matrix;
using kernels::MatrixLayout;
using kernels::RowProductWeights;

struct Sizes {
  std::int64_t rows, columns, depth;
};

// No size is a multiple of the width of a vector or of a panel.
constexpr Sizes kGemmSizes = {211, 333, 257};
constexpr Sizes kRowSizes = {70, 333, 257};

/// Two random matrices, and a bias.
template <typename T>
struct Factors {
  std::vector<T> a;         // [rows, depth]
  std::vector<T> b;         // [columns, depth]
  std::vector<float> bias;  // [columns]
};

template <typename To, typename From>
std::vector<To> convert(const std::vector<From>& numbers) {
  std::vector<To> converted;
  converted.reserve(numbers.size());
  for (const From number : numbers) converted.push_back(static_cast<To>(number));
  return converted;
}

template <typename T>
Factors<T> draw_factors(const Sizes& sizes) {
  RandomStream random(/*seed=*/1);
  return {.a = convert<T>(draw_numbers(sizes.rows * sizes.depth, random)),
          .b = convert<T>(draw_numbers(sizes.columns * sizes.depth, random)),
          .bias = draw_numbers(sizes.columns, random)};
}

/// Compares a product with sums in double. Allows the error of sums in float in any order.
template <typename T>
void compare_product(const Factors<T>& factors, const Sizes& sizes, const std::vector<float>& found,
                     Comparison& comparison) {
  for (std::int64_t row = 0; row < sizes.rows; ++row) {
    for (std::int64_t n = 0; n < sizes.columns; ++n) {
      const T* a = factors.a.data() + row * sizes.depth;
      const T* b = factors.b.data() + n * sizes.depth;
      double sum = factors.bias[n];
      double size = std::abs(sum);
      for (std::int64_t k = 0; k < sizes.depth; ++k) {
        const double term = static_cast<double>(static_cast<float>(a[k])) * static_cast<float>(b[k]);
        sum += term;
        size += std::abs(term);
      }
      comparison.add(found[row * sizes.columns + n], sum, static_cast<double>(sizes.depth + 4) * 0x1p-24 * size);
    }
  }
}

template <typename T>
Finding test_gemm() {
  const Factors<T> factors = draw_factors<T>(kGemmSizes);
  const auto [rows, columns, depth] = kGemmSizes;
  std::vector<float> found(static_cast<std::size_t>(rows * columns));
  kernels::gemm<T, float>({.rows = rows,
                           .columns = columns,
                           .depth = depth,
                           .a = {factors.a.data(), depth},
                           .b = {factors.b.data(), depth, MatrixLayout::kColumns},
                           .bias = factors.bias.data(),
                           .out = found.data(),
                           .out_stride = columns});
  Comparison comparison;
  compare_product(factors, kGemmSizes, found, comparison);
  return comparison.finding();
}

/// Multiplies the rows [begin, end).
template <typename T>
std::vector<float> multiply_some_rows(const Factors<T>& factors, const RowProductWeights<T>& weights,
                                      const std::vector<float>& scales, std::int64_t begin, std::int64_t end) {
  const bool has_scales = !scales.empty();
  std::vector<float> out(static_cast<std::size_t>((end - begin) * weights.columns()));
  kernels::multiply_rows<T>({.rows = end - begin,
                             .a = factors.a.data() + begin * weights.depth(),
                             .scales = has_scales ? scales.data() + begin : nullptr,
                             .b = &weights,
                             .bias = has_scales ? nullptr : factors.bias.data()},
                            out.data());
  return out;
}

/// Compares the bits of rows that are computed together with those of each row alone in one thread.
template <typename T>
void compare_rows_alone(const Factors<T>& factors, const RowProductWeights<T>& weights,
                        const std::vector<float>& scales, const std::vector<float>& all, Comparison& comparison) {
  const NumThreadsScope one_thread(1);
  for (std::int64_t row = 0; row < kRowSizes.rows; ++row) {
    const std::vector<float> alone = multiply_some_rows(factors, weights, scales, row, row + 1);
    comparison.add_equal(alone, {all.data() + row * kRowSizes.columns, alone.size()}, "computing a row alone");
  }
}

template <typename T>
Finding test_row_product() {
  const Factors<T> factors = draw_factors<T>(kRowSizes);
  RowProductWeights<T> weights;
  const std::vector<float> b = convert<float>(factors.b);
  weights.pack({b.data(), kRowSizes.depth, MatrixLayout::kColumns}, kRowSizes.depth, kRowSizes.columns);
  const std::vector<float> found = multiply_some_rows(factors, weights, {}, 0, kRowSizes.rows);
  Comparison comparison;
  compare_product(factors, kRowSizes, found, comparison);
  compare_rows_alone(factors, weights, {}, found, comparison);
  return comparison.finding();
}

}  // namespace

Finding test_fp32_gemm() { return test_gemm<float>(); }
Finding test_bf16_gemm() { return test_gemm<BFloat16>(); }
Finding test_fp32_row_product() { return test_row_product<float>(); }
Finding test_bf16_row_product() { return test_row_product<BFloat16>(); }

// Sums of 8-bit numbers are exact, and scales that are powers of two round nothing.
Finding test_int8_row_product() {
  RandomStream random(/*seed=*/2);
  const auto draw = [&](std::int64_t count) {
    std::vector<std::int8_t> numbers(static_cast<std::size_t>(count));
    for (std::int8_t& number : numbers) {
      number = static_cast<std::int8_t>(static_cast<std::int64_t>(random.next_below(255)) - 127);
    }
    return numbers;
  };
  const auto [rows, columns, depth] = kRowSizes;
  const Factors<std::int8_t> factors = {.a = draw(rows * depth), .b = draw(columns * depth), .bias = {}};
  const std::vector<float> row_scales(static_cast<std::size_t>(rows), 0.25f);
  const std::vector<float> column_scales(static_cast<std::size_t>(columns), 0.5f);
  RowProductWeights<std::int8_t> weights;
  weights.pack_exactly<std::int8_t>({factors.b.data(), depth, MatrixLayout::kColumns}, depth, columns, column_scales);
  const std::vector<float> found = multiply_some_rows(factors, weights, row_scales, 0, rows);
  std::vector<float> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t n = 0; n < columns; ++n) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += factors.a[row * depth + k] * factors.b[n * depth + k];
      expected.push_back(static_cast<float>(sum) * 0.125f);
    }
  }
  Comparison comparison;
  comparison.add_equal(found, expected, "the product");
  compare_rows_alone(factors, weights, row_scales, found, comparison);
  return comparison.finding();
}

}  // namespace edgewise
