// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/dropout/dropout_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so variants hold the types.
using AnyInput = std::variant<const float*, const BFloat16*>;
using AnyOutput = std::variant<float*, BFloat16*>;

void apply_dropout_to_range(const Dropout& dropout, std::int64_t begin, std::int64_t end, const AnyInput& in,
                            const AnyOutput& out) {
  std::visit([&](const auto* from, auto* to) HWY_ATTR { apply_dropout(DropoutFactors(dropout), begin, end, from, to); },
             in, out);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(apply_dropout_to_range);

template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out) {
  constexpr std::int64_t kGrain = 8192;  // values per range, at least
  if (instruction_set() == InstructionSet::kReference) return reference::dropout(dropout, count, in, out);
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(apply_dropout_to_range)(dropout, begin, end, in, out);
  });
}

/// There is no vector kernel for double: the reference computes it.
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
