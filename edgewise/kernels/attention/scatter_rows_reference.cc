// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows.h"

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
