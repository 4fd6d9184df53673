// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/benchmark/attention_workload.h"
#include "edgewise/nn/module.h"

namespace edgewise {

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
/// result is worthless. The text begins with `what`.
void check_difference(double difference, Precision precision, std::string_view what = "bench attention: attend");

/// Times attend() and its backward pass on random queries, keys and values, after comparing their results with those of
/// the CPU in fp64. On a GPU, a repetition is 20 calls, so that the GPU does not wait for the calling thread.
/// Throws as check_difference does.
AttentionBench measure_attention(const AttentionBenchOptions& options);

}  // namespace edgewise
