// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/gpu/device.h"

// A struct for each function of device.h: what a block of kThreads threads computes with the function. A thread reads
// kInputs words and writes kOutputs words. kUlp is the error that a device may have, in units of the last place of a
// float.
namespace edgewise::kernels::gpu::conformance {

inline constexpr int kThreads = 64;
inline constexpr int kExact = 0;

/// The numbers that a primitive reads.
enum class Inputs {
  kWords,          // random bits
  kFloats,         // normally distributed, after special numbers
  kFiniteFloats,   // normally distributed
  kPositive,       // positive floats outside of [0.5, 2], after special numbers
  kIntegerTiles,   // pairs of small integers as BFloat16, and 4 floats
  kPositiveTiles,  // pairs of positive BFloat16, and 4 floats
};

/// Runs a primitive: thread t reads in[t * kInputs + i] and writes out[t * kOutputs + i].
template <class Primitive>
struct PrimitiveKernel {
  static constexpr const char* kName = Primitive::kName;
  static constexpr int kThreads = conformance::kThreads;
  using Shared = typename Primitive::Shared;

  const std::uint32_t* in;
  std::uint32_t* out;

  EDGEWISE_DEVICE void operator()() const {
    std::uint32_t words[Primitive::kInputs];
    for (int i = 0; i < Primitive::kInputs; ++i) words[i] = in[thread_index() * Primitive::kInputs + i];
    std::uint32_t result[Primitive::kOutputs];
    Primitive::run(words, result, in);
    for (int i = 0; i < Primitive::kOutputs; ++i) out[thread_index() * Primitive::kOutputs + i] = result[i];
  }
};

EDGEWISE_DEVICE float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }
EDGEWISE_DEVICE std::uint32_t as_word(float value) { return std::bit_cast<std::uint32_t>(value); }

template <int kInputCount, int kOutputCount, Inputs kInputsKind = Inputs::kWords, int kAllowedUlp = kExact>
struct Primitive {
  static constexpr Inputs kKind = kInputsKind;
  static constexpr int kInputs = kInputCount;
  static constexpr int kOutputs = kOutputCount;
  static constexpr int kUlp = kAllowedUlp;
  struct Shared {};
};

struct ShuffleAll : Primitive<1, 1> {
  static constexpr const char* kName = "shuffle";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = shuffle(in[0], (lane_index() * 5 + 3) % kWarpSize);
  }
};

/// Each half of a warp exchanges within itself, at different times.
struct ShuffleHalves : Primitive<1, 1> {
  static constexpr const char* kName = "shuffle_xor of half a warp";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    if (lane_index() < 16) {
      out[0] = shuffle_xor(in[0], 5, 0x0000FFFF);
    } else {
      out[0] = shuffle_xor(in[0], 10, 0xFFFF0000);
    }
  }
};

struct Ballot : Primitive<1, 1> {
  static constexpr const char* kName = "ballot";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = ballot((in[0] & 1) != 0);
  }
};

struct ReduceLanes : Primitive<1, 3, Inputs::kFiniteFloats> {
  static constexpr const char* kName = "reduce_lanes";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = as_word(reduce_lanes(as_float(in[0]), Sum()));
    out[1] = as_word(reduce_lanes<4>(as_float(in[0]), Maximum()));
    out[2] = as_word(reduce_lanes<8>(as_float(in[0]), Minimum()));
  }
};

struct ReduceBlock : Primitive<1, 2, Inputs::kFiniteFloats> {
  static constexpr const char* kName = "reduce_block";
  struct Shared {
    float partial[kThreads / kWarpSize];
  };
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    Shared& shared = shared_memory<Shared>();
    out[0] = as_word(reduce_block<kThreads>(as_float(in[0]), Sum(), shared.partial));
    out[1] = as_word(reduce_block<kThreads>(as_float(in[0]), Maximum(), shared.partial));
  }
};

/// The second warp reads what the first one writes; then the lanes of each warp exchange through shared memory.
struct Barriers : Primitive<1, 2> {
  static constexpr const char* kName = "barriers";
  struct Shared {
    std::uint32_t words[kThreads];
  };
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    Shared& shared = shared_memory<Shared>();
    shared.words[thread_index()] = in[0];
    synchronize_named_barrier(3, kThreads);
    out[0] = shared.words[(thread_index() + kWarpSize) % kThreads];
    synchronize_block();
    shared.words[thread_index()] = out[0] + 1;
    synchronize_warp();
    out[1] = shared.words[thread_index() ^ 1];
  }
};

/// Copies of each size, in two groups; every third one is of zeros.
template <int kBytes>
struct Copies : Primitive<2 * kBytes / 4, 2 * kBytes / 4> {
  static constexpr const char* kName =
      kBytes == 4 ? "copy_async of 4 bytes" : (kBytes == 8 ? "copy_async of 8 bytes" : "copy_async of 16 bytes");
  static constexpr int kWords = kBytes / 4;
  struct Shared {
    alignas(16) std::uint32_t words[2][kThreads][kWords];
  };
  EDGEWISE_DEVICE static void run(const std::uint32_t* /*in*/, std::uint32_t* out, const std::uint32_t* all) {
    Shared& shared = shared_memory<Shared>();
    const int thread = thread_index();
    for (int group = 0; group < 2; ++group) {
      copy_async<kBytes>(shared.words[group][thread], all + (2 * thread + group) * kWords, (thread + group) % 3 != 0);
      commit_copies();
    }
    wait_for_copies<1>();
    for (int i = 0; i < kWords; ++i) out[i] = shared.words[0][thread][i];
    wait_for_copies<0>();
    synchronize_block();
    for (int i = 0; i < kWords; ++i) out[kWords + i] = shared.words[1][(thread + 1) % kThreads][i];
  }
};

/// Loads the 32 rows of 16 bytes that the threads of each warp have.
template <int kMatrices, bool kIsTransposed>
struct LoadMatrices : Primitive<4, kMatrices> {
  static constexpr const char* kName = kMatrices == 4
                                           ? (kIsTransposed ? "load_matrices_transposed, 4" : "load_matrices, 4")
                                           : (kIsTransposed ? "load_matrices_transposed, 2" : "load_matrices, 2");
  struct Shared {
    Quad rows[kThreads];
  };
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    Shared& shared = shared_memory<Shared>();
    for (int i = 0; i < 4; ++i) shared.rows[thread_index()].words[i] = in[i];
    synchronize_warp();
    std::uint32_t loaded[kMatrices];
    if constexpr (kIsTransposed) {
      load_matrices_transposed(loaded, &shared.rows[thread_index()]);
    } else {
      load_matrices(loaded, &shared.rows[thread_index()]);
    }
    for (int i = 0; i < kMatrices; ++i) out[i] = loaded[i];
  }
};

/// The words of a thread are a, b and the 4 sums.
template <Inputs kTiles, int kAllowedUlp>
struct MultiplyTiles : Primitive<10, 4, kTiles, kAllowedUlp> {
  static constexpr const char* kName =
      kTiles == Inputs::kIntegerTiles ? "multiply_tiles of integers" : "multiply_tiles";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    const std::uint32_t a[4] = {in[0], in[1], in[2], in[3]};
    const std::uint32_t b[2] = {in[4], in[5]};
    float sum[4] = {as_float(in[6]), as_float(in[7]), as_float(in[8]), as_float(in[9])};
    multiply_tiles(sum, a, b);
    for (int i = 0; i < 4; ++i) out[i] = as_word(sum[i]);
  }
};

struct PackBf16 : Primitive<2, 3, Inputs::kFloats> {
  static constexpr const char* kName = "pack_bf16";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = pack_bf16(as_float(in[0]), as_float(in[1]));
    out[1] = as_word(low_bf16(out[0]));
    out[2] = as_word(high_bf16(out[0]));
  }
};

/// Rounding of sums, products and quotients, with subnormal numbers and without contraction.
struct Arithmetic : Primitive<3, 5, Inputs::kFloats> {
  static constexpr const char* kName = "arithmetic";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    const float a = as_float(in[0]);
    const float b = as_float(in[1]);
    const float c = as_float(in[2]);
    out[0] = as_word(a + b);
    out[1] = as_word(a * b);
    out[2] = as_word(a / b);
    out[3] = as_word(a * b + c);
    out[4] = as_word(fused_multiply_add(a, b, c));
  }
};

struct SquareRoot : Primitive<1, 3, Inputs::kPositive> {
  static constexpr const char* kName = "square_root";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = as_word(square_root(as_float(in[0])));
    const auto root = std::bit_cast<std::uint64_t>(square_root(static_cast<double>(as_float(in[0]))));
    out[1] = static_cast<std::uint32_t>(root);
    out[2] = static_cast<std::uint32_t>(root >> 32);
  }
};

struct CountBits : Primitive<2, 2> {
  static constexpr const char* kName = "count_bits";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = static_cast<std::uint32_t>(count_bits(in[0]));
    out[1] = static_cast<std::uint32_t>(count_bits(in[0] | std::uint64_t{in[1]} << 32));
  }
};

struct Exp2 : Primitive<1, 1, Inputs::kFloats, 4> {
  static constexpr const char* kName = "exp2_approximate";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = as_word(exp2_approximate(as_float(in[0])));
  }
};

/// The error near 1 is absolute, so the inputs are not near 1.
struct Log2 : Primitive<1, 1, Inputs::kPositive, 8> {
  static constexpr const char* kName = "log2_approximate";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = as_word(log2_approximate(as_float(in[0])));
  }
};

struct Reciprocal : Primitive<1, 1, Inputs::kFloats, 2> {
  static constexpr const char* kName = "reciprocal_approximate";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    out[0] = as_word(reciprocal_approximate(as_float(in[0])));
  }
};

/// The constexpr functions of the host that kernels call.
struct HostFunctions : Primitive<6, 6> {
  static constexpr const char* kName = "philox and BFloat16";
  EDGEWISE_DEVICE static void run(const std::uint32_t* in, std::uint32_t* out, const std::uint32_t* /*all*/) {
    const auto block = philox(in[0] | std::uint64_t{in[1]} << 32, in[2] | std::uint64_t{in[3]} << 32,
                              in[4] | std::uint64_t{in[5]} << 32);
    for (int i = 0; i < 4; ++i) out[i] = block[static_cast<std::size_t>(i)];
    out[4] = std::bit_cast<std::uint16_t>(BFloat16(as_float(in[0])));
    out[5] = as_word(BFloat16(as_float(in[1])));
  }
};

/// Calls visit(Primitive()) for each primitive.
template <class Visit>
void for_each_primitive(Visit&& visit) {
  visit(ShuffleAll());
  visit(ShuffleHalves());
  visit(Ballot());
  visit(ReduceLanes());
  visit(ReduceBlock());
  visit(Barriers());
  visit(Copies<4>());
  visit(Copies<8>());
  visit(Copies<16>());
  visit(LoadMatrices<4, false>());
  visit(LoadMatrices<4, true>());
  visit(LoadMatrices<2, false>());
  visit(LoadMatrices<2, true>());
  visit(MultiplyTiles<Inputs::kIntegerTiles, kExact>());
  visit(MultiplyTiles<Inputs::kPositiveTiles, 64>());
  visit(PackBf16());
  visit(Arithmetic());
  visit(SquareRoot());
  visit(CountBits());
  visit(Exp2());
  visit(Log2());
  visit(Reciprocal());
  visit(HostFunctions());
}

}  // namespace edgewise::kernels::gpu::conformance
