// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/scatter_rows.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/scatter_rows_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyScatterRows = std::variant<ScatterRows<float>, ScatterRows<BFloat16>>;

void scatter(const AnyScatterRows& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit(
      [=](const auto& p) HWY_ATTR {
        for (std::int64_t row = row_begin; row < row_end; ++row) {
          const float* from = p.from + row * p.stride;
          auto* to = p.to[row] + p.offset;
          for_each_vector(p.columns,
                          [&](std::int64_t n, auto part) HWY_ATTR { store(part, load(part, from + n), to + n); });
        }
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {

template <typename T>
void scatter_rows(const ScatterRows<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t n = 0; n < p.columns; ++n) p.to[row][p.offset + n] = T(p.from[row * p.stride + n]);
  }
}

template void scatter_rows(const ScatterRows<float>&);
template void scatter_rows(const ScatterRows<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(scatter);

template <typename T>
void scatter_rows(const ScatterRows<T>& p) {
  constexpr std::int64_t kMinValuesPerThread = 32'768;
  const ScopedTimer timer("passes");
  if (instruction_set() == InstructionSet::kReference) return reference::scatter_rows(p);
  parallel_for(p.rows, kMinValuesPerThread / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scatter)(p, begin, end);
  });
}

template void scatter_rows(const ScatterRows<float>&);
template void scatter_rows(const ScatterRows<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
