// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "edgewise/base/config/fields.h"
#include "edgewise/graph/relation.h"
#include "edgewise/nn/module.h"

namespace edgewise {

/// The relations that attention is timed on; bench/peers/attention_cases.py has the same cases, except
/// those of long sequences, which are for GPUs.
enum class AttentionCase {
  kSentences,   // 128 sentences of 6 to 28 tokens; a token attends to its sentence
  kCausal,      // the sentences of kSentences; a token attends to itself and earlier tokens
  kSmall,       // the relation of kSentences, with 4 heads of size 32
  kWindow,      // 4096 nodes; a node attends to up to 128 nodes before it and 128 after it
  kRandom,      // 8192 nodes; a node attends to 32 nodes drawn from all
  kLong,        // 8 sequences of 2048 tokens; a token attends to its sequence
  kLongCausal,  // the sequences of kLong; a token attends to itself and earlier tokens
};

inline constexpr auto enum_names(AttentionCase) {
  return names_in_order<AttentionCase>("sentences", "causal", "small", "window", "random", "long", "long-causal");
}

struct AttentionWorkload {
  Relation relation;  // between nodes of one set
  std::int64_t heads = 8;
  std::int64_t head_size = 64;
};

AttentionWorkload make_attention_workload(AttentionCase which);

struct AttentionBenchOptions {
  AttentionCase which = AttentionCase::kSentences;
  at::Device device = at::kCPU;
  Precision precision = Precision::kFp32;
  std::int64_t repetitions = 20;
};

struct AttentionTime {
  double seconds = 0.0;        // median over the repetitions
  double mean_seconds = 0.0;   // mean over the repetitions
  double flops = 0.0;          // floating-point operations of the definition
  double limit_seconds = 0.0;  // lower bound: flops at peak speed or memory traffic at peak bandwidth
};

struct AttentionBench {
  std::string kernel;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  AttentionTime forward;
  AttentionTime total;          // forward and backward
  double difference = 0.0;      // largest |x - x64| / max(1, |x64|) over output and gradients; x64 is computed in fp64
  double peak_flops = 0.0;      // flops per second of matrix products
  double peak_bandwidth = 0.0;  // bytes per second of memory
};

/// Throws std::runtime_error when the difference from fp64 is too large for the precision, because the time of a wrong
/// result is worthless.
void check_difference(double difference, Precision precision);

/// Times attend() and its backward pass on random queries, keys and values, after comparing their results with those of
/// the CPU in fp64. On a GPU, a repetition is 20 calls, so that the GPU does not wait for the calling thread.
/// Throws as check_difference does.
AttentionBench measure_attention(const AttentionBenchOptions& options);

}  // namespace edgewise
