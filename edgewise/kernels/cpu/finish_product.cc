// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/finish_product.h"

#include <algorithm>
#include <span>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/aligned_bytes.h"
#include "edgewise/kernels/cpu/packed_matrix.h"
#include "edgewise/kernels/cpu/panels.h"
#include "edgewise/kernels/reference/gemm.h"

namespace edgewise::kernels {
namespace {

// Values of a block that is still in the cache when it is finished.
constexpr std::int64_t kValuesOfBlock = 1 << 16;
constexpr std::int64_t kFewestRows = 24;

float* room_for_values(std::int64_t count) {
  static thread_local AlignedBytes room;
  return room.elements<float>(count);
}

bool is_in_panels(const RowProduct& product) { return product.b->content().layout == onednn::RightLayout::kPanels; }

/// Whether each thread makes rows of its own, from the first column to the last.
bool rows_are_shared(const RowProduct& product) {
  return is_in_panels(product) && cpu::rows_are_worth_sharing(product.rows, product.b->columns(), product.b->depth());
}

cpu::PanelProduct<float> panel_product(const RowProduct& product, std::int64_t first, std::int64_t count, float* out,
                                       std::int64_t stride) {
  const PackedMatrix<std::int8_t>& b = *product.b;
  const bool is_relu = product.activation == GemmActivation::kRelu;
  return {.rows = count,
          .columns = b.columns(),
          .depth = b.depth(),
          .a = product.a + first * b.depth(),
          .a_stride = b.depth(),
          .panels = b.content().bytes.data(),
          .scale = {product.scales + first, b.scales(), product.bias, is_relu},
          .out = out,
          .out_stride = stride};
}

void multiply_rows(const RowProduct& product, std::int64_t first, std::int64_t count, float* out, std::int64_t stride) {
  const TimedWork timed("products");
  cpu::multiply_panels(panel_product(product, first, count, out, stride), 0, cpu::num_panels(product.b->columns()));
  if (product.activation != GemmActivation::kGelu) return;
  for (std::int64_t row = 0; row < count; ++row) {
    for (float& value : std::span(out + row * stride, static_cast<std::size_t>(product.b->columns()))) {
      value = reference::activate(value, product.activation);
    }
  }
}

// As sums first, which need a pass to become what they stand for.
void multiply_and_scale(const RowProduct& product, float* out, std::int64_t stride) {
  static thread_local AlignedBytes room;
  const PackedMatrix<std::int8_t>& b = *product.b;
  auto* sums = room.elements<std::int32_t>((product.rows + product.spare_rows) * b.columns());
  gemm(Gemm<std::int8_t, std::int32_t>{.rows = product.rows,
                                       .columns = b.columns(),
                                       .depth = b.depth(),
                                       .a = {product.a, b.depth()},
                                       .packed_b = &b,
                                       .out = sums,
                                       .out_stride = b.columns(),
                                       .spare_rows = product.spare_rows});
  finish_rows(FinishRows<std::int8_t>{.rows = product.rows,
                                      .columns = b.columns(),
                                      .product = {sums, product.scales, b.scales(), product.bias, product.activation},
                                      .out = out,
                                      .out_stride = stride});
}

/// Calls finish(first, count, values) for block after block of rows, [count, N] each. Where threads do not share the
/// rows all of them are one block.
template <class Finish>
void for_blocks(const RowProduct& product, const Finish& finish) {
  const std::int64_t columns = product.b->columns();
  if (!rows_are_shared(product)) {
    float* values = room_for_values(product.rows * columns);
    write_product(product, values, columns);
    return finish(0, product.rows, values);
  }
  const std::int64_t most = std::max(kFewestRows, kValuesOfBlock / columns / kFewestRows * kFewestRows);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    float* values = room_for_values(std::min(most, end - begin) * columns);
    for (std::int64_t first = begin; first < end; first += most) {
      const std::int64_t count = std::min(most, end - first);
      multiply_rows(product, first, count, values, columns);
      finish(first, count, values);
    }
  });
}

}  // namespace

void write_product(const RowProduct& product, float* out, std::int64_t stride) {
  if (product.rows == 0) return;
  if (rows_are_shared(product)) {
    parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
      multiply_rows(product, begin, end - begin, out + begin * stride, stride);
    });
  } else if (is_in_panels(product) && product.activation != GemmActivation::kGelu) {
    const TimedWork timed("products");
    cpu::share_panels(panel_product(product, 0, product.rows, out, stride));
  } else {
    multiply_and_scale(product, out, stride);
  }
}

void finish_product(const RowProduct& product, const FinishRows<std::int8_t>& finish) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    FinishRows<std::int8_t> block = finish.rows_from(first, count);
    block.values = values;
    finish_rows(block);
  });
}

void see_product(const RowProduct& product, const VocabularyTile& tile) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const float* values) {
    VocabularyTile block = tile;
    block.rows = count;
    block.state += first;
    block.values = values;
    see_tile(block);
  });
}

}  // namespace edgewise::kernels
