// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/finish_product.h"

#include <algorithm>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/aligned_bytes.h"
#include "edgewise/kernels/cpu/packed_matrix.h"
#include "edgewise/kernels/cpu/panels.h"

namespace edgewise::kernels {
namespace {

// Sums of a block that is still in the cache when it is finished.
constexpr std::int64_t kSumsOfBlock = 1 << 16;
constexpr std::int64_t kFewestRows = 24;

std::int32_t* room_for_sums(std::int64_t count) {
  static thread_local AlignedBytes room;
  return room.elements<std::int32_t>(count);
}

void multiply_whole(const RowProduct& product, std::int32_t* sums) {
  const PackedMatrix<std::int8_t>& b = *product.b;
  gemm(Gemm<std::int8_t, std::int32_t>{.rows = product.rows,
                                       .columns = b.columns(),
                                       .depth = b.depth(),
                                       .a = {product.a, b.depth()},
                                       .packed_b = &b,
                                       .out = sums,
                                       .out_stride = b.columns(),
                                       .spare_rows = product.spare_rows});
}

void multiply_block(const RowProduct& product, std::int64_t first, std::int64_t count, std::int32_t* sums) {
  const TimedWork timed("products");
  const PackedMatrix<std::int8_t>& b = *product.b;
  cpu::multiply_panels({.rows = count,
                        .columns = b.columns(),
                        .depth = b.depth(),
                        .a = product.a + first * b.depth(),
                        .a_stride = b.depth(),
                        .panels = b.content().bytes.data(),
                        .out = sums,
                        .out_stride = b.columns()},
                       0, cpu::num_panels(b.columns()));
}

/// Calls finish(first, count, sums) for block after block of rows, [count, N] each. Where threads do not share the rows
/// all of them are one block.
template <class Finish>
void for_blocks(const RowProduct& product, const Finish& finish) {
  const PackedMatrix<std::int8_t>& b = *product.b;
  const bool is_in_panels = b.content().layout == onednn::RightLayout::kPanels;
  if (!is_in_panels || !cpu::rows_are_worth_sharing(product.rows, b.columns(), b.depth())) {
    std::int32_t* sums = room_for_sums((product.rows + product.spare_rows) * b.columns());
    multiply_whole(product, sums);
    return finish(0, product.rows, sums);
  }
  const std::int64_t most = std::max(kFewestRows, kSumsOfBlock / b.columns() / kFewestRows * kFewestRows);
  parallel_for(product.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::int32_t* sums = room_for_sums(std::min(most, end - begin) * b.columns());
    for (std::int64_t first = begin; first < end; first += most) {
      const std::int64_t count = std::min(most, end - first);
      multiply_block(product, first, count, sums);
      finish(first, count, sums);
    }
  });
}

ScaledProduct scaled(const RowProduct& product, const ScaledProduct& as, std::int64_t first, const std::int32_t* sums) {
  return {.sums = sums,
          .row_scale = product.scales + first,
          .column_scale = product.b->scales(),
          .bias = as.bias,
          .activation = as.activation};
}

}  // namespace

void finish_product(const RowProduct& product, const FinishRows<std::int8_t>& finish) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const std::int32_t* sums) {
    FinishRows<std::int8_t> block = finish.rows_from(first, count);
    block.product = scaled(product, finish.product, first, sums);
    finish_rows(block);
  });
}

void see_product(const RowProduct& product, const VocabularyTile& tile) {
  for_blocks(product, [&](std::int64_t first, std::int64_t count, const std::int32_t* sums) {
    VocabularyTile block = tile;
    block.rows = count;
    block.state += first;
    block.product = scaled(product, tile.product, first, sums);
    see_tile(block);
  });
}

}  // namespace edgewise::kernels
