// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <variant>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/epilogue.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/epilogue_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/gemm/activation-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyRowEpilogue = std::variant<RowEpilogue<float>, RowEpilogue<BFloat16>, RowEpilogue<std::int8_t>>;

/// Stores values * factor, rounded to nearest, ties to even. The products must be at most 127 in magnitude. Adding
/// 1.5 * 2^23 rounds a product to an integer and leaves this integer in the low bits of the sum.
HWY_INLINE void store_int8(AllLanes /*part*/, Floats values, Floats factor, std::int8_t* to) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<std::uint8_t, FloatTag> d8;
  const Floats shifted = hn::MulAdd(values, factor, hn::Set(d, 0x1.8p23f));
  hn::StoreU(hn::TruncateTo(d8, hn::BitCast(d32, shifted)), d8, reinterpret_cast<std::uint8_t*>(to));
}

HWY_INLINE void store_int8(FirstLanes part, Floats values, Floats factor, std::int8_t* to) {
  HWY_ALIGN std::int8_t buffer[HWY_MAX_BYTES / sizeof(float)];
  store_int8(AllLanes(), values, factor, buffer);
  std::memcpy(to, buffer, part.count);
}

/// Stores the rounded products values * factor, bounded to ±127, likewise.
HWY_INLINE void store_bounded_int8(AllLanes part, Floats values, Floats factor, std::int8_t* to) {
  const FloatTag d;
  const Floats product = hn::Mul(values, factor);
  const Floats bounded = hn::Min(hn::Max(product, hn::Set(d, -127.0f)), hn::Set(d, 127.0f));
  store_int8(part, bounded, hn::Set(d, 1.0f), to);
}

HWY_INLINE void store_bounded_int8(FirstLanes part, Floats values, Floats factor, std::int8_t* to) {
  HWY_ALIGN std::int8_t buffer[HWY_MAX_BYTES / sizeof(float)];
  store_bounded_int8(AllLanes(), values, factor, buffer);
  std::memcpy(to, buffer, part.count);
}

void add_row(std::int64_t count, const float* from_N, float* sum_N) {
  for_each_vector(count, [&](std::int64_t n, auto part) HWY_ATTR {
    store(part, hn::Add(load(part, sum_N + n), load(part, from_N + n)), sum_N + n);
  });
}

/// Writes gate(first half of from) * second half of from.
void gate_row(GemmActivation gate, std::int64_t count, const float* from, float* to_N) {
  with_activation(gate, [=](auto constant) HWY_ATTR {
    for_each_vector(count, [&](std::int64_t n, auto part) HWY_ATTR {
      const Floats factor = activate_lanes<constant>(load(part, from + n)).value;
      store(part, hn::Mul(factor, load(part, from + count + n)), to_N + n);
    });
  });
}

template <typename T>
void norm_row(const RowEpilogue<T>& p, const float* from_N, float* to_N) {
  const std::int64_t count = p.columns;
  Floats mean = hn::Zero(FloatTag());
  if (p.norm.is_centred) {
    const float total = sum_values(count, [&](std::int64_t n, auto part) HWY_ATTR { return load(part, from_N + n); });
    mean = hn::Set(FloatTag(), total / static_cast<float>(count));
  }
  const float squares = sum_values(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats centred = hn::Sub(load(part, from_N + n), mean);
    return hn::Mul(centred, centred);
  });
  const float deviation =
      std::sqrt(squares / static_cast<float>(p.norm.divisor) + static_cast<float>(p.norm.epsilon_inside));
  const Floats inverse = hn::Set(FloatTag(), 1.0f / (deviation + static_cast<float>(p.norm.epsilon_outside)));
  for_each_vector(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats normed = hn::Mul(hn::Sub(load(part, from_N + n), mean), inverse);
    const Floats bias = p.norm_bias == nullptr ? hn::Zero(FloatTag()) : load(part, p.norm_bias + n);
    store(part, hn::MulAdd(normed, load(part, p.gain + n), bias), to_N + n);
  });
}

template <typename T>
void round_row(std::int64_t count, const float* from_N, T* to_N, float* /*scale*/, float /*multiplier*/) {
  for_each_vector(count, [&](std::int64_t n, auto part) HWY_ATTR { store(part, load(part, from_N + n), to_N + n); });
}

void round_row(std::int64_t count, const float* from_N, std::int8_t* to_N, float* scale, float multiplier) {
  if (multiplier > 0) {
    *scale = 1 / multiplier;
    return for_each_vector(count, [&](std::int64_t n, auto part) HWY_ATTR {
      store_bounded_int8(part, load(part, from_N + n), hn::Set(FloatTag(), multiplier), to_N + n);
    });
  }
  const float largest =
      max_magnitude(count, [&](std::int64_t n, auto part) HWY_ATTR { return load(part, from_N + n); });
  *scale = largest / 127;
  const Floats factor = hn::Set(FloatTag(), largest > 0 ? 127 / largest : 0.0f);
  for_each_vector(
      count, [&](std::int64_t n, auto part) HWY_ATTR { store_int8(part, load(part, from_N + n), factor, to_N + n); });
}

template <typename T>
void apply_to_rows(const RowEpilogue<T>& p, std::int64_t row_begin, std::int64_t row_end) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  float* buffer_N = scratch.take(static_cast<std::size_t>(p.columns));
  const std::int64_t out_stride = p.out_stride == 0 ? p.columns : p.out_stride;
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    // `row_N` points to the row after the latest operation.
    float* out_N = p.out == nullptr ? nullptr : p.out + row * out_stride;
    const float* row_N = p.values + row * p.columns * (p.gate ? 2 : 1);
    if (p.gate) {
      gate_row(*p.gate, p.columns, row_N, buffer_N);
      row_N = buffer_N;
    }
    if (p.residual != nullptr) {
      float* residual_N = p.residual + row * p.columns;
      add_row(p.columns, row_N, residual_N);
      row_N = residual_N;
    }
    if (p.gain != nullptr) {
      float* to_N = out_N != nullptr ? out_N : buffer_N;
      norm_row(p, row_N, to_N);
      row_N = to_N;
    }
    if (out_N != nullptr && out_N != row_N) std::copy_n(row_N, p.columns, out_N);
    if (p.rounded != nullptr) {
      float* scale = p.rounded_scale == nullptr ? nullptr : p.rounded_scale + row;
      round_row(p.columns, row_N, p.rounded + row * p.columns, scale, p.multiplier);
    }
  }
}

void apply_epilogue_to_rows(const AnyRowEpilogue& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit([=](const auto& p) HWY_ATTR { apply_to_rows(p, row_begin, row_end); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

void normalise(std::vector<float>& row, const float* gain, const float* bias, const NormFormula& norm) {
  double mean = 0;
  for (const float value : row) mean += value;
  mean = norm.is_centred ? mean / static_cast<double>(row.size()) : 0.0;
  double squares = 0;
  for (const float value : row) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / norm.divisor + norm.epsilon_inside) + norm.epsilon_outside;
  for (std::size_t n = 0; n < row.size(); ++n) {
    row[n] = static_cast<float>((row[n] - mean) / deviation * gain[n] + (bias == nullptr ? 0.0f : bias[n]));
  }
}

template <typename T>
void round_row(const RowEpilogue<T>& p, std::int64_t row, const std::vector<float>& values) {
  T* to = p.rounded + row * p.columns;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    if (p.multiplier > 0) {
      p.rounded_scale[row] = 1 / p.multiplier;
      for (std::size_t n = 0; n < values.size(); ++n) {
        to[n] = static_cast<T>(std::lrintf(std::clamp(values[n] * p.multiplier, -127.0f, 127.0f)));
      }
      return;
    }
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    p.rounded_scale[row] = largest / 127;
    for (std::size_t n = 0; n < values.size(); ++n) {
      to[n] = largest > 0 ? static_cast<T>(std::lrintf(values[n] * (127 / largest))) : T{0};
    }
  } else {
    for (std::size_t n = 0; n < values.size(); ++n) to[n] = T(values[n]);
  }
}

}  // namespace

template <typename T>
void apply_epilogue(const RowEpilogue<T>& p) {
  std::vector<float> values(static_cast<std::size_t>(p.columns));
  const std::int64_t out_stride = p.out_stride == 0 ? p.columns : p.out_stride;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      if (p.gate) {
        const float* gate = p.values + row * 2 * p.columns;
        values[n] = reference::activate(gate[n], *p.gate) * gate[p.columns + n];
      } else {
        values[n] = p.values[row * p.columns + n];
      }
      if (p.residual != nullptr) values[n] = p.residual[row * p.columns + n] += values[n];
    }
    if (p.gain != nullptr) normalise(values, p.gain, p.norm_bias, p.norm);
    if (p.out != nullptr) std::copy(values.begin(), values.end(), p.out + row * out_stride);
    if (p.rounded != nullptr) round_row(p, row, values);
  }
}

template void apply_epilogue(const RowEpilogue<float>&);
template void apply_epilogue(const RowEpilogue<BFloat16>&);
template void apply_epilogue(const RowEpilogue<std::int8_t>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(apply_epilogue_to_rows);

template <typename T>
void apply_epilogue(const RowEpilogue<T>& p) {
  constexpr std::int64_t kGrain = 8192;  // values per range, at least
  const ScopedTimer timer("passes");
  if (instruction_set() == InstructionSet::kReference) return reference::apply_epilogue(p);
  parallel_for(p.rows, kGrain / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(apply_epilogue_to_rows)(p, begin, end);
  });
}

template void apply_epilogue(const RowEpilogue<float>&);
template void apply_epilogue(const RowEpilogue<BFloat16>&);
template void apply_epilogue(const RowEpilogue<std::int8_t>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
