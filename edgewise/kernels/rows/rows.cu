// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/rows/rows.h"

namespace edgewise::kernels {
namespace gpu {

/// Copies rows with an index: that of the source if kIsGather, else that of the destination.
template <typename T, bool kIsGather, bool kIsWide>
struct CopyRowsKernel {
  static constexpr const char* kName = kIsGather ? "gather_rows" : "place_rows";
  static constexpr int kChunks = 4;
  using Strips = RowStrips<kChunks>;
  static constexpr int kThreads = Strips::kThreads;
  struct Shared {};

  IndexedRows<T> p;

  EDGEWISE_DEVICE void operator()() const {
    const Strips strip(p.size);
    if (strip.row >= p.num_rows) return;
    const std::int64_t indexed = p.rows[strip.row];
    const T* const from = p.from + (kIsGather ? indexed : strip.row) * p.size;
    T* const to = p.to + (kIsGather ? strip.row : indexed) * p.size;
    Floats4 values[kChunks];
    strip.template load<kIsWide>(from, p.size, values);
    strip.template store<kIsWide>(values, to, p.size);
  }
};

/// A warp sums a strip of a destination's row.
template <typename T, bool kIsWide>
struct SumRowsKernel {
  static constexpr const char* kName = "sum_rows";
  using Strips = RowStrips<1>;
  static constexpr int kThreads = Strips::kThreads;
  struct Shared {};

  SumRows<T> p;
  RelationView relation;

  EDGEWISE_DEVICE void operator()() const {
    const Strips strip(p.size);
    if (strip.row >= relation.num_destinations) return;
    const std::int64_t column = strip.column(0);
    const EdgeIndex begin = relation.row_begin[strip.row];
    const EdgeIndex end = relation.row_begin[strip.row + 1];
    const std::int64_t first = relation.intervals == nullptr ? begin : relation.intervals[strip.row].begin;
    const Floats4 sum = add_in_order<8>(
        {}, begin, end,
        [&](EdgeIndex e) { return relation.sources == nullptr ? first + (e - begin) : relation.sources[e]; },
        [&](std::int64_t row) { return load_chunk<kIsWide>(p.from + row * p.size + column, p.size - column); },
        [](std::int64_t /*row*/, const Floats4& values) { return values; });
    store_chunk<kIsWide>(sum, p.to + strip.row * p.size + column, p.size - column);
  }
};

template <bool kIsGather, typename T>
void launch_copy_rows(const IndexedRows<T>& p, device::Stream stream) {
  with_width(p.size, [&](auto is_wide) {
    using Kernel = CopyRowsKernel<T, kIsGather, is_wide>;
    launch(Kernel{p}, Kernel::Strips::num_blocks(p.num_rows, p.size), stream);
  });
}

}  // namespace gpu

template <typename T>
void gather_rows(const IndexedRows<T>& p, device::Stream stream) {
  gpu::launch_copy_rows</*kIsGather=*/true>(p, stream);
}

template <typename T>
void place_rows(const IndexedRows<T>& p, device::Stream stream) {
  gpu::launch_copy_rows</*kIsGather=*/false>(p, stream);
}

template <typename T>
void sum_rows(const SumRows<T>& p, const RelationView& relation, device::Stream stream) {
  gpu::with_width(p.size, [&](auto is_wide) {
    using Kernel = gpu::SumRowsKernel<T, is_wide>;
    launch(Kernel{p, relation}, Kernel::Strips::num_blocks(relation.num_destinations, p.size), stream);
  });
}

template void gather_rows(const IndexedRows<float>&, device::Stream);
template void gather_rows(const IndexedRows<BFloat16>&, device::Stream);
template void place_rows(const IndexedRows<float>&, device::Stream);
template void place_rows(const IndexedRows<BFloat16>&, device::Stream);
template void sum_rows(const SumRows<float>&, const RelationView&, device::Stream);
template void sum_rows(const SumRows<BFloat16>&, const RelationView&, device::Stream);

}  // namespace edgewise::kernels
