// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows.h"

#include <variant>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/attention/scatter_rows_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/scatter_rows_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/cast-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_SCATTER_ROWS_CC
#define EDGEWISE_KERNELS_CPU_SCATTER_ROWS_CC
namespace edgewise::kernels {

using AnyScatterRows = std::variant<ScatterRows<float>, ScatterRows<BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_SCATTER_ROWS_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

void scatter(const AnyScatterRows& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit(
      [=](const auto& p) HWY_ATTR {
        for (std::int64_t row = row_begin; row < row_end; ++row) {
          const float* from = p.from + row * p.stride;
          auto* to = p.to[row] + p.offset;
          for_lanes(p.columns, [&](std::int64_t n, auto part) HWY_ATTR { store(part, load(part, from + n), to + n); });
        }
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(scatter);

template <typename T>
void scatter_rows(const ScatterRows<T>& p) {
  constexpr std::int64_t kGrain = 32'768;  // values that a thread is worth waking for
  const TimedWork timed("passes");
  if (instruction_set() == InstructionSet::kReference) return reference::scatter_rows(p);
  parallel_for(p.rows, kGrain / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scatter)(p, begin, end);
  });
}

template void scatter_rows(const ScatterRows<float>&);
template void scatter_rows(const ScatterRows<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
