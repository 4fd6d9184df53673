// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/kernels/rows/rows.h"

namespace edgewise::kernels::reference {

template <typename T>
void gather_rows(const IndexedRows<T>& p) {
  for (std::int64_t i = 0; i < p.num_rows; ++i) std::copy_n(p.from + p.rows[i] * p.size, p.size, p.to + i * p.size);
}

template <typename T>
void place_rows(const IndexedRows<T>& p) {
  for (std::int64_t i = 0; i < p.num_rows; ++i) std::copy_n(p.from + i * p.size, p.size, p.to + p.rows[i] * p.size);
}

template <typename T>
void sum_rows(const SumRows<T>& p, const RelationView& relation) {
  const bool are_edges = relation.intervals == nullptr && relation.sources == nullptr;
  for (std::int64_t d = 0; d < relation.num_destinations; ++d) {
    for (std::int64_t i = 0; i < p.size; ++i) {
      float sum = 0;
      for (EdgeIndex e = relation.row_begin[d]; e < relation.row_begin[d + 1]; ++e) {
        sum += p.from[(are_edges ? e : relation.source(d, e)) * p.size + i];
      }
      p.to[d * p.size + i] = static_cast<T>(sum);
    }
  }
}

template void gather_rows(const IndexedRows<float>&);
template void gather_rows(const IndexedRows<BFloat16>&);
template void place_rows(const IndexedRows<float>&);
template void place_rows(const IndexedRows<BFloat16>&);
template void sum_rows(const SumRows<float>&, const RelationView&);
template void sum_rows(const SumRows<BFloat16>&, const RelationView&);

}  // namespace edgewise::kernels::reference
