// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/finish_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/gemm/finish_rows_reference.h"
#include "edgewise/kernels/gemm/gemm_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/finish_rows_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/norm/add_norm-inl.h"
#include "edgewise/kernels/gemm/scaled_sums-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_FINISH_ROWS_CC
#define EDGEWISE_KERNELS_CPU_FINISH_ROWS_CC
namespace edgewise::kernels {

using AnyFinishRows = std::variant<FinishRows<float>, FinishRows<BFloat16>, FinishRows<std::int8_t>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_FINISH_ROWS_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void scale_row(const ScaledProduct& p, std::int64_t row, std::int64_t count, float* to_N) {
  const std::int32_t* sums_N = p.sums + row * count;
  const float scale = p.row_scale[row];
  const Floats lowest = hn::Set(FloatTag(), p.activation == GemmActivation::kRelu ? 0.0f : -kInfinity);
  for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats bias = p.bias == nullptr ? hn::Zero(FloatTag()) : load(part, p.bias + n);
    store(part, hn::Max(scaled_sums(part, sums_N + n, scale, p.column_scale + n, bias), lowest), to_N + n);
  });
  if (p.activation != GemmActivation::kGelu) return;
  for (std::int64_t n = 0; n < count; ++n) to_N[n] = reference::activate(to_N[n], p.activation);
}

void add_row(std::int64_t count, const float* from_N, float* sum_N) {
  for_lanes(count, [&](std::int64_t n, auto part)
                       HWY_ATTR { store(part, hn::Add(load(part, sum_N + n), load(part, from_N + n)), sum_N + n); });
}

template <typename T>
void norm_row(const FinishRows<T>& p, const float* from_N, float* to_N) {
  const std::int64_t count = p.columns;
  const float total = sum_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR { return load(part, from_N + n); });
  const Floats mean = hn::Set(FloatTag(), total / static_cast<float>(count));
  const float squares = sum_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats centred = hn::Sub(load(part, from_N + n), mean);
    return hn::Mul(centred, centred);
  });
  const float deviation =
      std::sqrt(squares / static_cast<float>(p.norm.divisor) + static_cast<float>(p.norm.epsilon_inside));
  const Floats inverse = hn::Set(FloatTag(), 1.0f / (deviation + static_cast<float>(p.norm.epsilon_outside)));
  for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats normed = hn::Mul(hn::Sub(load(part, from_N + n), mean), inverse);
    store(part, hn::MulAdd(normed, load(part, p.gain + n), load(part, p.norm_bias + n)), to_N + n);
  });
}

template <typename T>
void round_row(std::int64_t count, const float* from_N, T* to_N, float* /*scale*/) {
  for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR { store(part, load(part, from_N + n), to_N + n); });
}

void round_row(std::int64_t count, const float* from_N, std::int8_t* to_N, float* scale) {
  const float size = size_of_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR { return load(part, from_N + n); });
  *scale = size / 127;
  const Floats factor = hn::Set(FloatTag(), size > 0 ? 127 / size : 0.0f);
  for_lanes(count,
            [&](std::int64_t n, auto part) HWY_ATTR { store_int8(part, load(part, from_N + n), factor, to_N + n); });
}

template <typename T>
void finish(const FinishRows<T>& p, std::int64_t row_begin, std::int64_t row_end) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  float* room_N = scratch.take(static_cast<std::size_t>(p.columns));
  const std::int64_t out_stride = p.out_stride == 0 ? p.columns : p.out_stride;
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    // Each stage works where the row then lies: in the cache nearest to the core.
    float* out_N = p.out == nullptr ? nullptr : p.out + row * out_stride;
    const float* row_N = nullptr;
    if (p.product.sums != nullptr) {
      const bool is_result = out_N != nullptr && p.sum == nullptr && p.gain == nullptr;
      float* to_N = is_result ? out_N : room_N;
      scale_row(p.product, row, p.columns, to_N);
      row_N = to_N;
    } else {
      row_N = p.values + row * p.columns;
    }
    if (p.sum != nullptr) {
      float* sum_N = p.sum + row * p.columns;
      add_row(p.columns, row_N, sum_N);
      row_N = sum_N;
    }
    if (p.gain != nullptr) {
      float* to_N = out_N != nullptr ? out_N : room_N;
      norm_row(p, row_N, to_N);
      row_N = to_N;
    }
    if (out_N != nullptr && out_N != row_N) std::copy_n(row_N, p.columns, out_N);
    if (p.rounded != nullptr) {
      float* scale = p.rounded_scale == nullptr ? nullptr : p.rounded_scale + row;
      round_row(p.columns, row_N, p.rounded + row * p.columns, scale);
    }
  }
}

void any_finish_rows(const AnyFinishRows& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit([=](const auto& p) HWY_ATTR { finish(p, row_begin, row_end); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(any_finish_rows);

template <typename T>
void finish_rows(const FinishRows<T>& p) {
  constexpr std::int64_t kGrain = 8192;  // values that a thread is worth waking for
  const TimedWork timed("passes");
  if (instruction_set() == InstructionSet::kReference) return reference::finish_rows(p);
  parallel_for(p.rows, kGrain / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(any_finish_rows)(p, begin, end);
  });
}

template void finish_rows(const FinishRows<float>&);
template void finish_rows(const FinishRows<BFloat16>&);
template void finish_rows(const FinishRows<std::int8_t>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
