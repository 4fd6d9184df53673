// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/graph/neighbours.h"
#include "edgewise/kernels/attention/node_attention.h"

namespace edgewise {

/// A separable convolution's filter; nn/neighbour_filter.h has the formula. One without weights is switched off.
struct FilterParameters {
  std::vector<float> weight;  // [W, M]
  Reach reach;

  bool is_on() const { return !weight.empty(); }
};

/// What the filter makes of the pieces around number `centre` of the list, as far as they are in `row`: to [M] at `out`
/// from the [M] at `offset` of each piece. T is float or BFloat16.
template <typename T>
void sum_neighbours(const FilterParameters& filter, std::int64_t size, const kernels::SourceRange& row,
                    std::int64_t centre, const T* const* pieces, std::int64_t offset, float* out);

}  // namespace edgewise
