// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "edgewise/experiment/attention_cases.h"
#include "edgewise/nn/module.h"

namespace edgewise {

struct AttentionBenchOptions {
  AttentionCase which = AttentionCase::kSentences;
  Precision precision = Precision::kFp32;
  std::int64_t repetitions = 20;
};

struct AttentionTime {
  double seconds = 0.0;        // median
  double flops = 0.0;          // of the arithmetic that is asked for
  double limit_seconds = 0.0;  // that this machine needs for the arithmetic, or to read and write each tensor once
};

struct AttentionBench {
  std::string kernel;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  AttentionTime forward;
  AttentionTime total;      // forward and backward
  double difference = 0.0;  // the largest of output and gradients from fp64's, relative to the larger of 1 and those
  double peak_flops = 0.0;  // of matrix products, a second
  double peak_bandwidth = 0.0;  // of memory, in bytes a second
};

/// Throws std::runtime_error when a difference is too large for the precision: the time of a wrong answer says nothing.
void check_difference(double difference, Precision precision);

/// Times attend() and its backward pass on random queries, keys and values, after comparing what they give. Throws as
/// check_difference does.
AttentionBench measure_attention(const AttentionBenchOptions& options);

}  // namespace edgewise
