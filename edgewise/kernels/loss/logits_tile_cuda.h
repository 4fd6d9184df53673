// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/loss/logit_sums_cuda.h"
#include "edgewise/kernels/loss/loss_gpu.h"
#include "edgewise/kernels/loss/top_tokens_cuda.h"

// The definition of reduce_logits_tile() for the device and for the emulator.
namespace edgewise::kernels {
namespace gpu {

/// A block reduces one row: first the sum and the largest logit of each thread, then the k largest logits.
struct LogitsTileRows {
  static constexpr const char* kName = "logits_tile";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kQuads = 4;  // groups of four logits that a thread loads at a time
  using Selection = TopTokenSelection<kThreads, kQuads>;

  struct Shared {
    WarpExpSums<kWarps> sums;
    Selection::Shared selection;
  };

  LogitsTile p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const std::int64_t begin = block_index() * p.columns;
    const RowColumns columns(begin, static_cast<int>(p.columns));
    LogSumExpTopK& result = p.accumulators[block_index()];
    const TopTokenRow row = {.logits = p.logits + begin,
                             .penalty = p.penalty,
                             .first_token = static_cast<std::int32_t>(p.first_token),
                             .capacity = static_cast<int>(result.capacity),
                             .count = static_cast<int>(result.count),
                             .top_logits = result.top_logits,
                             .top_tokens = result.top_tokens};
    add_logits(row, columns, result.logits_out);
    synchronize_block();
    if (thread_index() == 0) add_sums(shared.sums.sum_of_block(), result);
    if (row.capacity == 0) return;
    const int count = Selection(row, columns, shared.selection).run();
    if (thread_index() == 0) result.count = count;
  }

 private:
  EDGEWISE_DEVICE static void add_logits(const TopTokenRow& row, const RowColumns& columns, float* logits_out) {
    Shared& shared = shared_memory<Shared>();
    ExpSums sums;
    float largest = kLowestLogit;
    columns.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float logit[kSize];
      load_columns(row.logits, part, logit);
      sums.raise_to(logit);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) {
        sums.sum += sums.weight(logit[i]);
        largest = Maximum()(row.candidate(logit[i], part.at(i)), largest);
        if (logits_out != nullptr) logits_out[part.at(i)] = logit[i];
      }
    });
    shared.sums.write(sums);
    Selection::begin(largest, shared.selection);
  }

  EDGEWISE_DEVICE static void add_sums(ExpSums tile, LogSumExpTopK& result) {
    const float base = Maximum()(result.base, tile.maximum);
    tile.raise(base);
    result.sum = result.sum * double{exp_approximate(result.base - exponent_base(base))} + double{tile.sum};
    result.base = base;
  }
};

}  // namespace gpu

void reduce_logits_tile(const LogitsTile& p, device::Stream stream) {
  launch(gpu::LogitsTileRows{p}, static_cast<int>(p.rows), stream);
}

}  // namespace edgewise::kernels
