// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/row_product.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/packed_matrix.h"
#include "edgewise/kernels/gemm/panels.h"

namespace edgewise::kernels {
namespace {

template <typename T>
constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

// A block of this many values stays in the second-level cache until its epilogue has run.
constexpr std::int64_t kBlockValues = 1 << 16;
constexpr std::int64_t kMinRows = 24;

float* buffer_of_this_thread(std::int64_t count) {
  static thread_local AlignedBuffer buffer;
  return buffer.elements<float>(count);
}

/// Returns whether to divide the rows among the threads instead of the columns. Each thread then loads all of b, which
/// is only fast for many rows per thread.
template <typename T>
bool can_split_rows(const RowProduct<T>& product) {
  constexpr std::int64_t kCacheBytes = 1 << 18;
  if (product.b->panels() == nullptr) return false;
  const std::int64_t bytes = product.b->columns() * product.b->depth() * std::int64_t{sizeof(T)};
  return product.rows / num_threads() >= (bytes <= kCacheBytes ? kMinRows / 4 : kMinRows);
}

template <typename T>
cpu::PanelProduct<T> make_panel_product(const RowProduct<T>& product, std::int64_t first, std::int64_t count,
                                        float* out) {
  const RowProductWeights<T>& b = *product.b;
  return {.rows = count,
          .columns = b.columns(),
          .depth = b.depth(),
          .a = product.a + first * b.depth(),
          .a_stride = b.depth(),
          .panels = b.panels(),
          .epilogue = {.row_scales = kIsInt8<T> ? product.scales + first : nullptr,
                       .column_scales = kIsInt8<T> ? b.scales() : nullptr,
                       .bias = product.bias,
                       .is_relu = product.activation == GemmActivation::kRelu},
          .out = out,
          .out_stride = b.columns()};
}

template <typename T>
void activate_gelu(const RowProduct<T>& product, std::int64_t rows, float* values) {
  if (product.activation != GemmActivation::kGelu) return;
  for (float& value : std::span(values, static_cast<std::size_t>(rows * product.b->columns()))) {
    value = reference::activate(value, GemmActivation::kGelu);
  }
}

template <typename T>
void multiply_block(const RowProduct<T>& product, std::int64_t first, std::int64_t count, float* out) {
  const ScopedTimer timer("products");
  cpu::multiply_panels(make_panel_product(product, first, count, out), 0, cpu::count_panels(product.b->columns()));
  activate_gelu(product, count, out);
}

/// Divides the panels of columns among the threads; each thread computes all rows.
template <typename T>
void split_columns(const RowProduct<T>& product, float* out) {
  constexpr std::int64_t kGrain = 1 << 14;  // multiplications per thread and column of a panel, at least
  const ScopedTimer timer("products");
  const cpu::PanelProduct<T> whole = make_panel_product(product, 0, product.rows, out);
  parallel_for(cpu::count_panels(whole.columns), 1 + kGrain / (product.rows * whole.depth),
               [&](std::int64_t begin, std::int64_t end) { cpu::multiply_panels(whole, begin, end); });
  activate_gelu(product, product.rows, out);
}

template <typename T, typename Out>
Gemm<T, Out> to_gemm(const RowProduct<T>& product, Out* out) {
  const RowProductWeights<T>& b = *product.b;
  return {.rows = product.rows,
          .columns = b.columns(),
          .depth = b.depth(),
          .a = {product.a, b.depth()},
          .packed_b = &b.packed(),
          .out = out,
          .out_stride = b.columns(),
          .spare_rows = product.spare_rows};
}

template <typename T>
void multiply_by_gemm(const RowProduct<T>& product, float* out) {
  Gemm<T, float> whole = to_gemm(product, out);
  whole.bias = product.bias;
  whole.activation = product.activation;
  gemm(whole);
}

void multiply_by_gemm(const RowProduct<std::int8_t>& product, float* out) {
  static thread_local AlignedBuffer buffer;
  const std::int64_t columns = product.b->columns();
  auto* sums = buffer.elements<std::int32_t>((product.rows + product.spare_rows) * columns);
  gemm(to_gemm(product, sums));
  apply_epilogue(
      RowEpilogue<std::int8_t>{.rows = product.rows,
                               .columns = columns,
                               .product = {sums, product.scales, product.b->scales(), product.bias, product.activation},
                               .out = out});
}

/// Calls body(first, count, values) for each block of rows of the product, with values [count, N]. Runs body on several
/// threads if rows can be split; otherwise all rows are one block.
template <typename T, class Body>
void for_blocks(const RowProduct<T>& product, const Body& body) {
  const std::int64_t columns = product.b->columns();
  if (!can_split_rows(product)) {
    float* values = buffer_of_this_thread((product.rows + product.spare_rows) * columns);
    multiply_rows(product, values);
    return body(0, product.rows, values);
  }
  const std::int64_t block_rows = std::max(kMinRows, kBlockValues / columns / kMinRows * kMinRows);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    float* values = buffer_of_this_thread(std::min(block_rows, end - begin) * columns);
    for (std::int64_t first = begin; first < end; first += block_rows) {
      const std::int64_t count = std::min(block_rows, end - first);
      multiply_block(product, first, count, values);
      body(first, count, values);
    }
  });
}

}  // namespace

template <typename T>
void RowProductWeights<T>::pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns) {
  depth_ = depth;
  columns_ = columns;
  if (!cpu::has_fast_panels<T>() || depth * columns == 0) {
    packed_.pack(from, depth, columns);
    if constexpr (kIsInt8<T>) scales_.assign(packed_.scales(), packed_.scales() + columns);
  } else if constexpr (kIsInt8<T>) {
    static thread_local AlignedBuffer buffer;
    const Matrix<T> quantised = quantise_columns(from, depth, columns, /*largest=*/127, scales_, buffer);
    cpu::pack_panels<T>(quantised, depth, columns, panels_.reserve_bytes(cpu::count_panel_bytes<T>(depth, columns)));
  } else {
    cpu::pack_panels<T>(from, depth, columns, panels_.reserve_bytes(cpu::count_panel_bytes<T>(depth, columns)));
  }
}

template <typename T>
void multiply_rows(const RowProduct<T>& product, float* out) {
  if (product.rows == 0) return;
  if (product.b->panels() == nullptr) return multiply_by_gemm(product, out);
  if (!can_split_rows(product)) return split_columns(product, out);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    multiply_block(product, begin, end - begin, out + begin * product.b->columns());
  });
}

template <typename T>
void multiply_with_epilogue(const RowProduct<T>& product, const RowEpilogue<T>& epilogue) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    RowEpilogue<T> block = epilogue.slice_rows(first, count);
    block.values = values;
    apply_epilogue(block);
  });
}

template <typename T>
void multiply_and_reduce(const RowProduct<T>& product, const LogitsTile& tile) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    LogitsTile block = tile;
    block.rows = count;
    block.accumulators += first;
    block.logits = values;
    reduce_logits_tile(block);
  });
}

template class RowProductWeights<float>;
template class RowProductWeights<BFloat16>;
template class RowProductWeights<std::int8_t>;
template void multiply_rows(const RowProduct<float>&, float*);
template void multiply_rows(const RowProduct<BFloat16>&, float*);
template void multiply_rows(const RowProduct<std::int8_t>&, float*);
template void multiply_with_epilogue(const RowProduct<float>&, const RowEpilogue<float>&);
template void multiply_with_epilogue(const RowProduct<BFloat16>&, const RowEpilogue<BFloat16>&);
template void multiply_with_epilogue(const RowProduct<std::int8_t>&, const RowEpilogue<std::int8_t>&);
template void multiply_and_reduce(const RowProduct<float>&, const LogitsTile&);
template void multiply_and_reduce(const RowProduct<BFloat16>&, const LogitsTile&);
template void multiply_and_reduce(const RowProduct<std::int8_t>&, const LogitsTile&);

}  // namespace edgewise::kernels
