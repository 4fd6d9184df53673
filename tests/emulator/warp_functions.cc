// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "edgewise/base/bfloat16.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/lane.h"
#include "tests/emulator/memory_access.h"

// Collectives of a warp that exchange registers. The layouts of matrices are documented in device.h.
namespace edgewise::kernels::gpu::emulator {
namespace {

constexpr int kLanesOfWarp = 32;

std::uint16_t half_of(std::uint32_t word, int half) { return static_cast<std::uint16_t>(word >> 16 * half); }

float bf16_value(std::uint32_t word, int half) {
  return std::bit_cast<float>(std::uint32_t{half_of(word, half)} << 16);
}

void run_shuffle(WarpOperands* const* operands, std::uint32_t lanes) {
  for (int i = 0; i < kLanesOfWarp; ++i) {
    if ((lanes >> i & 1) != 0) operands[i]->words[1] = operands[operands[i]->source_lane]->words[0];
  }
}

void run_ballot(WarpOperands* const* operands, std::uint32_t lanes) {
  std::uint32_t result = 0;
  for (int i = 0; i < kLanesOfWarp; ++i) {
    if ((lanes >> i & 1) != 0) result |= operands[i]->words[0] << i;
  }
  for (int i = 0; i < kLanesOfWarp; ++i) operands[i]->words[1] = result;
}

// Lane i gives the 4 words of row i % 8 of matrix i / 8, and receives word 4 + m of matrix m.
template <bool kIsTransposed>
void run_load_matrices(WarpOperands* const* operands, std::uint32_t /*lanes*/) {
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int lane = 0; lane < kLanesOfWarp; ++lane) {
      const int row = lane / 4;
      const int column = lane % 4 * 2;
      auto element = [&](int r, int c) -> std::uint32_t {
        return half_of(operands[matrix * 8 + r]->words[static_cast<std::size_t>(c / 2)], c % 2);
      };
      const std::uint32_t low = kIsTransposed ? element(column, row) : element(row, column);
      const std::uint32_t high = kIsTransposed ? element(column + 1, row) : element(row, column + 1);
      operands[lane]->words.data()[4 + matrix] = low | high << 16;
    }
  }
}

// The words of a lane are a[0] to a[3], b[0], b[1], and the 4 sums.
void run_multiply_tiles(WarpOperands* const* operands, std::uint32_t /*lanes*/) {
  float a[16][16];
  float b[16][8];
  for (int lane = 0; lane < kLanesOfWarp; ++lane) {
    const auto& words = operands[lane]->words;
    for (int half = 0; half < 2; ++half) {
      const int group = lane / 4;
      const int at = lane % 4 * 2 + half;
      a[group][at] = bf16_value(words[0], half);
      a[group + 8][at] = bf16_value(words[1], half);
      a[group][at + 8] = bf16_value(words[2], half);
      a[group + 8][at + 8] = bf16_value(words[3], half);
      b[at][group] = bf16_value(words[4], half);
      b[at + 8][group] = bf16_value(words[5], half);
    }
  }
  for (int lane = 0; lane < kLanesOfWarp; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8;
      const int column = lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      std::uint32_t& word = operands[lane]->words.data()[6 + i];
      word = std::bit_cast<std::uint32_t>(std::bit_cast<float>(word) + sum);
    }
  }
}

std::uint32_t bf16_bits(float value) {
  return std::isnan(value) ? 0x7FFF : std::bit_cast<std::uint16_t>(BFloat16(value));
}

}  // namespace

std::uint32_t shuffle(std::uint32_t value, int source, std::uint32_t lanes, const CallSite& site) {
  if (source < 0 || source >= kLanesOfWarp || (lanes >> source & 1) == 0) {
    fail_in_kernel(fmt::format("shuffle: the source is lane {}, needs one of the lanes {:#010x}", source, lanes), site);
  }
  WarpOperands& operands = current_lane().operands;
  operands.words[0] = value;
  operands.source_lane = source;
  wait_in_warp("shuffle", run_shuffle, lanes, site);
  return operands.words[1];
}

std::uint32_t ballot(bool value, std::uint32_t lanes, const CallSite& site) {
  WarpOperands& operands = current_lane().operands;
  operands.words[0] = value ? 1 : 0;
  wait_in_warp("ballot", run_ballot, lanes, site);
  return operands.words[1];
}

void load_matrices(std::span<std::uint32_t> out, const void* row, bool is_transposed, const CallSite& site) {
  constexpr int kRowBytes = 16;
  Lane& lane = current_lane();
  if (lane.index % kLanesOfWarp < static_cast<int>(out.size()) * 8) {
    check_shared(row, kRowBytes, "load_matrices", site);
    std::uint32_t words[kRowBytes / sizeof(std::uint32_t)];
    copy_bytes(reinterpret_cast<unsigned char*>(words), static_cast<const unsigned char*>(row), kRowBytes);
    std::copy(std::begin(words), std::end(words), lane.operands.words.begin());
  }
  wait_in_warp("load_matrices", is_transposed ? run_load_matrices<true> : run_load_matrices<false>, ~std::uint32_t{0},
               site);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = lane.operands.words[4 + i];
}

void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], const CallSite& site) {
  auto& words = current_lane().operands.words;
  for (std::size_t i = 0; i < 4; ++i) {
    words[i] = a[i];
    words[6 + i] = std::bit_cast<std::uint32_t>(sum[i]);
  }
  words[4] = b[0];
  words[5] = b[1];
  wait_in_warp("multiply_tiles", run_multiply_tiles, ~std::uint32_t{0}, site);
  for (std::size_t i = 0; i < 4; ++i) sum[i] = std::bit_cast<float>(words[6 + i]);
}

std::uint32_t pack_bf16(float low, float high) { return bf16_bits(low) | bf16_bits(high) << 16; }

float flush_subnormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

}  // namespace edgewise::kernels::gpu::emulator
