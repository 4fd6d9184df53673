// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/row_product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/micro_kernels.h"
#include "edgewise/kernels/simd/instruction_set.h"

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

template <typename T>
std::int64_t count_bytes(const RowProductWeights<T>& b) {
  return b.columns() * b.depth() * std::int64_t{sizeof(T)};
}

/// Returns the fewest rows that a thread should compute at a time, because it loads all of b for them.
template <typename T>
std::int64_t choose_min_rows(const RowProduct<T>& product) {
  constexpr std::int64_t kCacheBytes = 1 << 18;
  return count_bytes(*product.b) <= kCacheBytes ? kMinRows / 4 : kMinRows;
}

/// Returns the fewest rows of a range if the rows are divided. Each range loads all of b: from a b of up to 4 MB this
/// takes no time, because panels are prefetched; with a larger one each thread computes a single range.
template <typename T>
std::int64_t choose_row_grain(const RowProduct<T>& product) {
  constexpr std::int64_t kLargeBytes = 1 << 22;
  return count_bytes(*product.b) <= kLargeBytes ? choose_min_rows(product) : product.rows / num_threads();
}

template <typename T>
PanelProduct<T> make_panel_product(const RowProduct<T>& product, std::int64_t first, std::int64_t count, float* out) {
  const RowProductWeights<T>& b = *product.b;
  return {.rows = count,
          .columns = b.columns(),
          .depth = b.depth(),
          .a = product.a + first * b.depth(),
          .a_stride = b.depth(),
          .format = b.format(),
          .panels = b.panels(),
          .epilogue = {.row_scales = kIsInt8<T> ? product.scales + first : nullptr,
                       .column_scales = kIsInt8<T> ? b.scales() : nullptr,
                       .bias = product.bias,
                       .is_relu = product.activation == GemmActivation::kRelu},
          .out = out,
          .out_stride = b.columns()};
}

/// Returns whether an activation takes a pass of its own: the panels apply ReLU when they write the sums.
bool needs_pass(GemmActivation activation) {
  return activation != GemmActivation::kNone && activation != GemmActivation::kRelu;
}

/// Computes the columns of panels [begin, end) of a block of the product.
template <typename T>
void multiply_and_activate(const PanelProduct<T>& block, GemmActivation activation, std::int64_t begin,
                           std::int64_t end) {
  multiply_panels(block, begin, end);
  if (!needs_pass(activation)) return;
  const std::int64_t first = begin * panel_columns(block.format);
  const std::int64_t count = std::min(end * panel_columns(block.format), block.columns) - first;
  for (std::int64_t row = 0; row < block.rows; ++row) {
    activate(activation, count, block.out + row * block.out_stride + first);
  }
}

template <typename T>
void multiply_block(const RowProduct<T>& product, std::int64_t first, std::int64_t count, float* out) {
  const ScopedTimer timer("products");
  const PanelProduct<T> block = make_panel_product(product, first, count, out);
  multiply_and_activate(block, product.activation, 0, count_panels(block.format, block.columns));
}

/// Returns the fewest panels that a thread should compute at a time. They take 10 to 20 µs, because threads need a few
/// microseconds to begin and to end together, and much longer than converting the left side.
template <typename T>
std::int64_t choose_panel_grain(const PanelProduct<T>& product) {
  constexpr std::int64_t kMultiplications = 1 << 19;
  constexpr std::int64_t kMultiplicationsPerByte = 4;  // as many take as long as loading a byte of b
  constexpr std::int64_t kColumns = 256;
  const std::int64_t columns = panel_columns(product.format);
  const std::int64_t element = product.rows + kMultiplicationsPerByte * std::int64_t{sizeof(T)};
  const std::int64_t panels = 1 + kMultiplications / std::max<std::int64_t>(1, element * product.depth * columns);
  return converts_left_side<T>(product.format) ? std::max(panels, divide_up(kColumns, columns)) : panels;
}

/// Calls body(first, count, values) for each block of rows of the product, with values [count, N]. Runs body on several
/// threads if rows can be split; otherwise all rows are one block.
template <typename T, class Body>
void for_blocks(const RowProduct<T>& product, const Body& body) {
  const std::int64_t columns = product.b->columns();
  if (!splits_rows(product)) {
    float* values = buffer_of_this_thread(product.rows * columns);
    multiply_rows(product, values);
    return body(0, product.rows, values);
  }
  const std::int64_t block_rows =
      std::max(kMinRows, kBlockValues / std::max<std::int64_t>(1, columns) / kMinRows * kMinRows);
  parallel_for(product.rows, choose_min_rows(product), [&](std::int64_t begin, std::int64_t end) {
    float* values = buffer_of_this_thread(std::min(block_rows, end - begin) * columns);
    for (std::int64_t first = begin; first < end; first += block_rows) {
      const std::int64_t count = std::min(block_rows, end - first);
      multiply_block(product, first, count, values);
      body(first, count, values);
    }
  });
}

}  // namespace

Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns,
                                     std::vector<float>& scales, AlignedBuffer& buffer) {
  constexpr float kLargest = 127;
  const std::int64_t row_step = from.row_step();
  auto* to = buffer.elements<std::int8_t>(depth * columns);
  scales.resize(static_cast<std::size_t>(columns));
  parallel_for(columns, 1 + 16'384 / std::max<std::int64_t>(1, depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* values = from.data + n * from.column_step();
      float largest = 0;
      for (std::int64_t k = 0; k < depth; ++k) largest = std::max(largest, std::abs(values[k * row_step]));
      scales[n] = largest / kLargest;
      const float factor = largest > 0 ? kLargest / largest : 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) {
        to[n * depth + k] = static_cast<std::int8_t>(std::lrintf(values[k * row_step] * factor));
      }
    }
  });
  return {to, depth, MatrixLayout::kColumns};
}

bool has_fast_bf16_row_products() { return cpu::has_micro_kernels<BFloat16>() && has_fast_bf16_instructions(); }

template <typename T>
template <typename From>
void RowProductWeights<T>::pack_into_panels(const Matrix<From>& from, std::int64_t depth, std::int64_t columns) {
  check(!kIsInt8<T> || depth <= kMaxInt8Depth,
        "RowProductWeights: a matrix has {} rows, needs at most {} as 8-bit numbers; choose another precision", depth,
        kMaxInt8Depth);
  depth_ = depth;
  columns_ = columns;
  format_ = choose_panel_format<T>();
  void* to = panels_.reserve_bytes(count_panel_bytes<T>(format_, depth, columns));
  pack_panels<T>(format_, from, depth, columns, to);
}

template <typename T>
void RowProductWeights<T>::pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns) {
  if constexpr (kIsInt8<T>) {
    static thread_local AlignedBuffer buffer;
    pack_into_panels(quantise_columns(from, depth, columns, scales_, buffer), depth, columns);
  } else {
    pack_into_panels(from, depth, columns);
  }
}

template <typename T>
template <typename From>
void RowProductWeights<T>::pack_exactly(const Matrix<From>& from, std::int64_t depth, std::int64_t columns,
                                        std::span<const float> scales) {
  scales_.assign(scales.begin(), scales.end());
  pack_into_panels(from, depth, columns);
}

template <typename T>
void RowProductWeights<T>::allocate_like(const RowProductWeights& other, std::int64_t columns) {
  depth_ = other.depth_;
  columns_ = columns;
  format_ = other.format_;
  scales_.assign(static_cast<std::size_t>(other.scales_.empty() ? 0 : columns), 0.0f);
  const std::size_t bytes = count_panel_bytes<T>(format_, depth_, columns);
  std::fill_n(static_cast<std::byte*>(panels_.reserve_bytes(bytes)), bytes, std::byte{0});
}

template <typename T>
void RowProductWeights<T>::copy_column(std::int64_t to, const RowProductWeights& other, std::int64_t from) {
  void* panels = panels_.reserve_bytes(count_panel_bytes<T>(format_, depth_, columns_));
  copy_panel_column<T>(format_, depth_, {other.panels(), other.columns_, from}, {panels, columns_, to});
  if (!scales_.empty()) scales_[static_cast<std::size_t>(to)] = other.scales_[static_cast<std::size_t>(from)];
}

template <typename T>
bool splits_rows(const RowProduct<T>& product) {
  return product.rows / num_threads() >= choose_min_rows(product);
}

template <typename T>
void multiply_all(std::span<const RowProduct<T>> products, float* out) {
  if (products.empty() || products.front().rows == 0) return;
  const ScopedTimer timer("products");
  std::vector<PanelProduct<T>> blocks;
  std::vector<std::int64_t> ends;  // the end of each block's panels, numbered over all blocks
  for (const RowProduct<T>& product : products) {
    const PanelProduct<T>& block = blocks.emplace_back(make_panel_product(product, 0, product.rows, out));
    ends.push_back((ends.empty() ? 0 : ends.back()) + count_panels(block.format, block.columns));
    out += block.rows * block.columns;
  }
  parallel_for(ends.back(), choose_panel_grain(blocks.front()), [&](std::int64_t begin, std::int64_t end) {
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends, begin) - ends.begin());
    for (; begin < end; begin = ends[i++]) {
      const std::int64_t first = i == 0 ? 0 : ends[i - 1];
      multiply_and_activate(blocks[i], products[i].activation, begin - first, std::min(end, ends[i]) - first);
    }
  });
}

template <typename T>
void multiply_rows(const RowProduct<T>& product, float* out) {
  if (product.rows == 0) return;
  if (!splits_rows(product)) return multiply_all(std::span(&product, 1), out);
  parallel_for(product.rows, choose_row_grain(product), [&](std::int64_t begin, std::int64_t end) {
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
template void RowProductWeights<float>::pack_exactly(const Matrix<BFloat16>&, std::int64_t, std::int64_t,
                                                     std::span<const float>);
template void RowProductWeights<BFloat16>::pack_exactly(const Matrix<BFloat16>&, std::int64_t, std::int64_t,
                                                        std::span<const float>);
template void RowProductWeights<std::int8_t>::pack_exactly(const Matrix<std::int8_t>&, std::int64_t, std::int64_t,
                                                           std::span<const float>);
template bool splits_rows(const RowProduct<float>&);
template bool splits_rows(const RowProduct<BFloat16>&);
template bool splits_rows(const RowProduct<std::int8_t>&);
template void multiply_all(std::span<const RowProduct<float>>, float*);
template void multiply_all(std::span<const RowProduct<BFloat16>>, float*);
template void multiply_all(std::span<const RowProduct<std::int8_t>>, float*);
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
