// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/neighbour_sum.h"

#include <algorithm>

#include "edgewise/base/bfloat16.h"

namespace edgewise {

template <typename T>
void sum_neighbours(const FilterParameters& filter, std::int64_t size, const kernels::SourceRange& row,
                    std::int64_t centre, const T* const* pieces, std::int64_t offset, float* out) {
  const std::int64_t first = centre - filter.reach.before;
  const std::int64_t end = std::min(centre + filter.reach.after + 1, row.begin + row.count);
  std::fill_n(out, size, 0.0f);
  for (std::int64_t number = std::max(first, row.begin); number < end; ++number) {
    const T* read = pieces[number] + offset;
    const float* weight = filter.weight.data() + (number - first) * size;
    for (std::int64_t m = 0; m < size; ++m) out[m] += weight[m] * static_cast<float>(read[m]);
  }
}

template void sum_neighbours(const FilterParameters&, std::int64_t, const kernels::SourceRange&, std::int64_t,
                             const float* const*, std::int64_t, float*);
template void sum_neighbours(const FilterParameters&, std::int64_t, const kernels::SourceRange&, std::int64_t,
                             const BFloat16* const*, std::int64_t, float*);

}  // namespace edgewise
