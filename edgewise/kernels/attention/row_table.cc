// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/row_task.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/row_table.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

RowTable table_layout(std::int64_t first_size, std::int64_t second_size) {
  return {.data = nullptr, .first_size = padded_size(first_size), .second_size = padded_size(second_size)};
}

void pack_rows(const HeadRows<ConstElements>& first, const HeadRows<ConstElements>& second, const RowTable& table,
               std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    float* to = table.data + row * table.stride();
    load_row(first, row, to);
    load_row(second, row, to + table.first_size);
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(table_layout);
HWY_EXPORT(pack_rows);

PackedRows::PackedRows(std::int64_t num_rows, std::int64_t first_size, std::int64_t second_size)
    : num_rows_(num_rows), table_(HWY_DYNAMIC_DISPATCH(table_layout)(first_size, second_size)) {
  table_.data = memory_.elements<float>(num_rows * table_.stride());
}

void PackedRows::pack(const HeadRows<ConstElements>& first, const HeadRows<ConstElements>& second) {
  constexpr std::int64_t kMinFloatsPerThread = 8192;
  const std::int64_t grain = kMinFloatsPerThread / table_.stride() + 1;
  parallel_for(num_rows_, grain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(pack_rows)(first, second, table_, begin, end);
  });
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
