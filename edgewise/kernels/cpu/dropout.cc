// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout.h"

#include <algorithm>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/instruction_set.h"
#include "edgewise/kernels/reference/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/cpu/dropout.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/cpu/cast-inl.h"
#include "edgewise/kernels/cpu/dropout-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_DROPOUT_CC
#define EDGEWISE_KERNELS_CPU_DROPOUT_CC
namespace edgewise::kernels {

/// Values `begin` to `end` of a dropout.
template <typename From, typename To>
struct DropoutRange {
  const Dropout& dropout;
  const From* in;
  To* out;
  std::int64_t begin;
  std::int64_t end;
};

using AnyDropoutRange = std::variant<DropoutRange<float, float>, DropoutRange<float, BFloat16>,
                                     DropoutRange<BFloat16, float>, DropoutRange<BFloat16, BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_DROPOUT_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kChunk = 1024;  // values whose factors stay in the first cache

template <typename From, typename To>
void cast_range(const DropoutRange<From, To>& p) {
  const From* in = p.in + p.begin;
  To* out = p.out + p.begin;
  for_lanes(p.end - p.begin, [&](std::int64_t i, auto part) HWY_ATTR { store(part, load(part, in + i), out + i); });
}

template <typename From, typename To>
void drop_range(const DropoutRange<From, To>& p) {
  const DropoutFactors factors(p.dropout);
  HWY_ALIGN float room[kChunk + kDropoutFactorsSlack];
  for (std::int64_t begin = p.begin; begin < p.end; begin += kChunk) {
    const std::int64_t size = std::min(kChunk, p.end - begin);
    const float* factor = factors.of_values(begin, size, room);
    const From* in = p.in + begin;
    To* out = p.out + begin;
    for_lanes(size, [&](std::int64_t i, auto part) HWY_ATTR {
      store(part, hn::Mul(load(part, in + i), hn::LoadU(FloatTag(), factor + i)), out + i);
    });
  }
}

void dropout_range(const AnyDropoutRange& range) {
  std::visit(
      [](const auto& p) HWY_ATTR {
        if (p.dropout.rate == 0.0) {
          cast_range(p);
        } else {
          drop_range(p);
        }
      },
      range);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(dropout_range);

template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out) {
  constexpr std::int64_t kGrain = 8192;  // values that a thread is worth waking for
  if (instruction_set() == InstructionSet::kReference) return reference::dropout(dropout, count, in, out);
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(dropout_range)(DropoutRange<From, To>{dropout, in, out, begin, end});
  });
}

template <>
void dropout(const Dropout& dropout, std::int64_t count, const double* in, double* out) {
  reference::dropout(dropout, count, in, out);
}

template void dropout(const Dropout&, std::int64_t, const float*, float*);
template void dropout(const Dropout&, std::int64_t, const float*, BFloat16*);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, float*);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, BFloat16*);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
