// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gpu/device.h"

// Kernels that are as fast as the memory compute four consecutive numbers at a time, a chunk: 16 bytes of float or 8 of
// BFloat16, and the four random words of a Philox block. A kernel with kIsWide computes arrays whose rows begin at
// multiples of a chunk and consist of whole chunks, and loads a chunk at once. A kernel without kIsWide, for rows of
// any size, loads number by number.
namespace edgewise::kernels::gpu {

inline constexpr int kChunk = 4;

/// The numbers of a chunk as floats.
struct alignas(16) Floats4 {
  float at[kChunk];
};

/// The numbers of a chunk in memory as BFloat16.
struct alignas(8) Bf16x4 {
  BFloat16 at[kChunk];
};

namespace detail {
struct alignas(8) TwoWords {
  std::uint32_t words[2];
};

EDGEWISE_DEVICE Floats4 unpack(TwoWords packed) {
  return {low_bf16(packed.words[0]), high_bf16(packed.words[0]), low_bf16(packed.words[1]), high_bf16(packed.words[1])};
}

EDGEWISE_DEVICE TwoWords pack(const Floats4& values) {
  return {pack_bf16(values.at[0], values.at[1]), pack_bf16(values.at[2], values.at[3])};
}
}  // namespace detail

/// Loads the numbers of a chunk, of which the first `count` exist; the others are 0. T is float or BFloat16. A wide
/// chunk has all numbers, or none if `count` is not above 0.
template <bool kIsWide, typename T>
EDGEWISE_DEVICE Floats4 load_chunk(const T* from, std::int64_t count) {
  Floats4 values = {};
  if constexpr (!kIsWide) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      if (i < count) values.at[i] = from[i];
    }
  } else if (count > 0) {
    if constexpr (std::is_same_v<T, float>) {
      values = *reinterpret_cast<const Floats4*>(from);
    } else {
      values = detail::unpack(std::bit_cast<detail::TwoWords>(*reinterpret_cast<const Bf16x4*>(from)));
    }
  }
  return values;
}

/// Stores the numbers of a chunk that exist, rounded to T.
template <bool kIsWide, typename T>
EDGEWISE_DEVICE void store_chunk(const Floats4& values, T* to, std::int64_t count) {
  if constexpr (!kIsWide) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      if (i < count) to[i] = static_cast<T>(values.at[i]);
    }
  } else if (count > 0) {
    if constexpr (std::is_same_v<T, float>) {
      *reinterpret_cast<Floats4*>(to) = values;
    } else {
      *reinterpret_cast<Bf16x4*>(to) = std::bit_cast<Bf16x4>(detail::pack(values));
    }
  }
}

/// Returns the numbers as store_chunk<T>() stores them.
template <typename T>
EDGEWISE_DEVICE Floats4 round_chunk(const Floats4& values) {
  if constexpr (std::is_same_v<T, float>) {
    return values;
  } else {
    return detail::unpack(detail::pack(values));
  }
}

EDGEWISE_DEVICE Floats4 multiply(const Floats4& a, const Floats4& b) {
  Floats4 product;
  EDGEWISE_UNROLL
  for (int i = 0; i < kChunk; ++i) product.at[i] = a.at[i] * b.at[i];
  return product;
}

EDGEWISE_DEVICE Floats4 add(const Floats4& a, const Floats4& b) {
  Floats4 sum;
  EDGEWISE_UNROLL
  for (int i = 0; i < kChunk; ++i) sum.at[i] = a.at[i] + b.at[i];
  return sum;
}

constexpr bool is_wide(std::int64_t size) { return size % kChunk == 0; }

/// Calls call(std::bool_constant<kIsWide>()).
template <class Call>
void with_width(std::int64_t size, Call&& call) {
  is_wide(size) ? call(std::true_type()) : call(std::false_type());
}

/// Divides a flat array among blocks of kThreads threads. A thread has kChunks chunks, which it loads before it stores
/// the first one, and neighbouring threads have neighbouring chunks.
template <int kThreads, int kChunks>
struct FlatChunks {
  static constexpr std::int64_t kNumbersOfBlock = std::int64_t{kThreads} * kChunks * kChunk;

  static int num_blocks(std::int64_t count) {
    return static_cast<int>((count + kNumbersOfBlock - 1) / kNumbersOfBlock);
  }

  /// Returns the index of the first number of this thread's chunk number c.
  EDGEWISE_DEVICE static std::int64_t first(int c) {
    return block_index() * kNumbersOfBlock + std::int64_t{c * kThreads + thread_index()} * kChunk;
  }
};

}  // namespace edgewise::kernels::gpu
