// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/gemm.h"

// Products of 8-bit matrices on AVX-512's instructions that sum four products at once (VNNI). The right side lies in
// panels: columns that go through the registers together, so that a panel is read from one end to the other, by one
// group of rows after another while it is in the nearest cache.

namespace edgewise::kernels::cpu {

/// Whether this machine has such instructions and none that are faster: AMX's, which are oneDNN's affair.
bool panels_are_fast();

/// Bytes of [K, N] in panels.
std::size_t size_of_panels(std::int64_t depth, std::int64_t columns);

/// From [N, K] without gaps, column behind column.
void pack_panels(std::int64_t depth, std::int64_t columns, const std::int8_t* from, void* to);

/// To floats in rows without gaps: [K, N].
void unpack_panels(std::int64_t depth, std::int64_t columns, const void* from, float* to);

/// What makes values of sums: the scales of rows and columns, and what is added.
struct PanelScale {
  const float* rows = nullptr;     // [M]
  const float* columns = nullptr;  // [N]
  const float* bias = nullptr;     // [N], or null
  bool is_relu = false;            // negative ones become 0
};

/// The product of rows, `a_stride` apart, with a matrix that is packed in panels. Out is std::int32_t for sums, or
/// float for what they stand for.
template <typename Out>
struct PanelProduct {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  const std::int8_t* a;  // [M, K]
  std::int64_t a_stride;
  const void* panels;
  PanelScale scale = {};  // for floats
  Out* out;               // [M, N]
  std::int64_t out_stride;
};

std::int64_t num_panels(std::int64_t columns);

/// Those columns of it that are in panels [begin, end), on the thread that calls.
template <typename Out>
void multiply_panels(const PanelProduct<Out>& p, std::int64_t begin, std::int64_t end);

/// All of it, on all threads, each with columns of its own.
template <typename Out>
void share_panels(const PanelProduct<Out>& p);

void gemm_in_panels(const Gemm<std::int8_t, std::int32_t>& product);

/// Whether threads better share such a product's rows than its columns: rows are then enough for each to be worth all
/// of the right side's way to its core.
bool rows_are_worth_sharing(std::int64_t rows, std::int64_t columns, std::int64_t depth);

}  // namespace edgewise::kernels::cpu
