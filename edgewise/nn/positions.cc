// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/positions.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// A sentence is shorter; a position beyond is computed each time, so that a single huge one needs no huge table.
constexpr std::int64_t kLongestTable = 1 << 16;

double inverse_frequency(std::int64_t dimension, std::int64_t size, PositionKind kind) {
  const std::int64_t exponent = kind == PositionKind::kSinusoidal ? dimension - dimension % 2 : 2 * dimension;
  return std::pow(10000.0, -static_cast<double>(exponent) / static_cast<double>(size));
}

/// In double precision: the angle of a late position has few exact digits in float.
at::Tensor compute(const at::Tensor& positions_T, std::int64_t size, PositionKind kind) {
  at::Tensor result_TM = at::empty({positions_T.size(0), size}, at::kDouble);
  const std::int64_t* position = positions_T.const_data_ptr<std::int64_t>();
  double* row = result_TM.mutable_data_ptr<double>();
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < size; ++j) frequencies.push_back(inverse_frequency(j, size, kind));

  for (std::int64_t t = 0; t < positions_T.size(0); ++t, row += size) {
    for (std::int64_t j = 0; j < size; ++j) {
      const double angle = static_cast<double>(position[t]) * frequencies[static_cast<std::size_t>(j)];
      row[j] = j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return result_TM;
}

}  // namespace

struct Positions::Table {
  std::mutex mutex;
  std::map<at::ScalarType, at::Tensor> rows;  // by dtype, [positions, size]

  /// One with at least `count` rows.
  at::Tensor of(std::int64_t count, at::ScalarType dtype, std::int64_t size, PositionKind kind) {
    const std::lock_guard lock(mutex);
    at::Tensor& table = rows[dtype];
    const std::int64_t known = table.defined() ? table.size(0) : 0;
    if (known < count) {
      // Training may read later what decoding computes first, and autograd refuses tensors made in inference mode.
      const c10::InferenceMode normal_tensors(false);
      table = compute(at::arange(std::max(count, 2 * known)), size, kind).to(dtype);
    }
    return table;
  }
};

Positions::Positions(std::int64_t size, PositionKind kind)
    : size_(size), kind_(kind), table_(std::make_shared<Table>()) {}

at::Tensor Positions::operator()(std::span<const std::int64_t> positions, at::ScalarType dtype) const {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    check(positions[i] >= 0, "Positions: position {} is {}, needs 0 or more", i, positions[i]);
  }
  const at::Tensor positions_T = at::tensor(at::ArrayRef<std::int64_t>(positions.data(), positions.size()));
  const std::int64_t last = positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end());
  if (last >= kLongestTable) return compute(positions_T, size_, kind_).to(dtype);
  return table_->of(last + 1, dtype, size_, kind_).index_select(0, positions_T);
}

}  // namespace edgewise
