// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/row_product.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/gemm/quantise.h"
#include "edgewise/kernels/gemm/gemm_reference.h"

namespace edgewise::kernels {
namespace {

template <typename T>
constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

// Values of a block that is still in the cache when it is finished.
constexpr std::int64_t kValuesOfBlock = 1 << 16;
constexpr std::int64_t kFewestRows = 24;

float* room_for_values(std::int64_t count) {
  static thread_local AlignedBytes room;
  return room.elements<float>(count);
}

/// Whether each thread makes rows of its own, from the first column to the last: they are then enough to be worth all
/// of the right side's way to its core.
template <typename T>
bool rows_are_shared(const RowProduct<T>& product) {
  constexpr std::int64_t kBytesNearACore = 1 << 18;
  if (product.b->panels() == nullptr) return false;
  const std::int64_t bytes = product.b->columns() * product.b->depth() * std::int64_t{sizeof(T)};
  return product.rows / num_threads() >= (bytes <= kBytesNearACore ? kFewestRows / 4 : kFewestRows);
}

template <typename T>
cpu::PanelProduct<T> panel_product(const RowProduct<T>& product, std::int64_t first, std::int64_t count, float* out) {
  const RowMatrix<T>& b = *product.b;
  return {.rows = count,
          .columns = b.columns(),
          .depth = b.depth(),
          .a = product.a + first * b.depth(),
          .a_stride = b.depth(),
          .panels = b.panels(),
          .scale = {.rows = kIsInt8<T> ? product.scales + first : nullptr,
                    .columns = kIsInt8<T> ? b.scales() : nullptr,
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
void multiply_rows(const RowProduct<T>& product, std::int64_t first, std::int64_t count, float* out) {
  const TimedWork timed("products");
  cpu::multiply_panels(panel_product(product, first, count, out), 0, cpu::num_panels(product.b->columns()));
  activate_gelu(product, count, out);
}

/// Each thread makes all rows of its own columns.
template <typename T>
void share_columns(const RowProduct<T>& product, float* out) {
  constexpr std::int64_t kGrain = 1 << 14;  // products of rows and columns of a panel that a thread is worth waking for
  const TimedWork timed("products");
  const cpu::PanelProduct<T> whole = panel_product(product, 0, product.rows, out);
  parallel_for(cpu::num_panels(whole.columns), 1 + kGrain / (product.rows * whole.depth),
               [&](std::int64_t begin, std::int64_t end) { cpu::multiply_panels(whole, begin, end); });
  activate_gelu(product, product.rows, out);
}

template <typename T, typename Out>
Gemm<T, Out> gemm_of(const RowProduct<T>& product, Out* out) {
  const RowMatrix<T>& b = *product.b;
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
  Gemm<T, float> whole = gemm_of(product, out);
  whole.bias = product.bias;
  whole.activation = product.activation;
  gemm(whole);
}

void multiply_by_gemm(const RowProduct<std::int8_t>& product, float* out) {
  static thread_local AlignedBytes room;
  const std::int64_t columns = product.b->columns();
  auto* sums = room.elements<std::int32_t>((product.rows + product.spare_rows) * columns);
  gemm(gemm_of(product, sums));
  finish_rows(
      FinishRows<std::int8_t>{.rows = product.rows,
                              .columns = columns,
                              .product = {sums, product.scales, product.b->scales(), product.bias, product.activation},
                              .out = out});
}

/// Calls finish(first, count, values) for block after block of rows, [count, N] each. Where threads do not share the
/// rows all of them are one block.
template <typename T, class Finish>
void for_blocks(const RowProduct<T>& product, const Finish& finish) {
  const std::int64_t columns = product.b->columns();
  if (!rows_are_shared(product)) {
    float* values = room_for_values((product.rows + product.spare_rows) * columns);
    write_product(product, values);
    return finish(0, product.rows, values);
  }
  const std::int64_t most = std::max(kFewestRows, kValuesOfBlock / columns / kFewestRows * kFewestRows);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    float* values = room_for_values(std::min(most, end - begin) * columns);
    for (std::int64_t first = begin; first < end; first += most) {
      const std::int64_t count = std::min(most, end - first);
      multiply_rows(product, first, count, values);
      finish(first, count, values);
    }
  });
}

}  // namespace

template <typename T>
void RowMatrix<T>::pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns) {
  depth_ = depth;
  columns_ = columns;
  if (!cpu::panels_are_fast<T>() || depth * columns == 0) {
    packed_.pack(from, depth, columns);
    if constexpr (kIsInt8<T>) scales_.assign(packed_.scales(), packed_.scales() + columns);
  } else if constexpr (kIsInt8<T>) {
    static thread_local AlignedBytes room;
    const Matrix<T> rounded = cpu::quantised(from, depth, columns, /*largest=*/127, scales_, room);
    cpu::pack_panels<T>(rounded, depth, columns, panels_.of_size(cpu::size_of_panels<T>(depth, columns)));
  } else {
    cpu::pack_panels<T>(from, depth, columns, panels_.of_size(cpu::size_of_panels<T>(depth, columns)));
  }
}

template <typename T>
void write_product(const RowProduct<T>& product, float* out) {
  if (product.rows == 0) return;
  if (product.b->panels() == nullptr) return multiply_by_gemm(product, out);
  if (!rows_are_shared(product)) return share_columns(product, out);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    multiply_rows(product, begin, end - begin, out + begin * product.b->columns());
  });
}

template <typename T>
void finish_product(const RowProduct<T>& product, const FinishRows<T>& finish) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    FinishRows<T> block = finish.rows_from(first, count);
    block.values = values;
    finish_rows(block);
  });
}

template <typename T>
void see_product(const RowProduct<T>& product, const VocabularyTile& tile) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    VocabularyTile block = tile;
    block.rows = count;
    block.state += first;
    block.values = values;
    see_tile(block);
  });
}

template class RowMatrix<float>;
template class RowMatrix<BFloat16>;
template class RowMatrix<std::int8_t>;
template void write_product(const RowProduct<float>&, float*);
template void write_product(const RowProduct<BFloat16>&, float*);
template void write_product(const RowProduct<std::int8_t>&, float*);
template void finish_product(const RowProduct<float>&, const FinishRows<float>&);
template void finish_product(const RowProduct<BFloat16>&, const FinishRows<BFloat16>&);
template void finish_product(const RowProduct<std::int8_t>&, const FinishRows<std::int8_t>&);
template void see_product(const RowProduct<float>&, const VocabularyTile&);
template void see_product(const RowProduct<BFloat16>&, const VocabularyTile&);
template void see_product(const RowProduct<std::int8_t>&, const VocabularyTile&);

}  // namespace edgewise::kernels
