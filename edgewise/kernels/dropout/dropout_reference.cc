// SPDX-License-Identifier: Apache-2.0

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/simd/accumulator_type.h"

namespace edgewise::kernels::reference {

template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out) {
  constexpr std::int64_t kWords = 4;
  constexpr std::int64_t kGrain = 1024;  // blocks per range, at least
  const DropoutRule<AccumulatorType<From>> rule(dropout);
  parallel_for((count + kWords - 1) / kWords, kGrain, [&](std::int64_t block_begin, std::int64_t block_end) {
    for (std::int64_t block = block_begin; block < block_end; ++block) {
      const auto words = philox(dropout.seed, dropout.stream, static_cast<std::uint64_t>(block));
      const std::int64_t begin = block * kWords;
      const std::int64_t size = std::min(kWords, count - begin);
      for (std::int64_t i = 0; i < size; ++i) out[begin + i] = static_cast<To>(in[begin + i] * rule.factor(words[i]));
    }
  });
}

template void dropout(const Dropout&, std::int64_t, const double*, double*);
template void dropout(const Dropout&, std::int64_t, const float*, float*);
template void dropout(const Dropout&, std::int64_t, const float*, BFloat16*);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, float*);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, BFloat16*);

}  // namespace edgewise::kernels::reference
