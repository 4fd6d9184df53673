// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// The work that message passing is timed on; bench/peers/message_cases.py has the same cases.
enum class MessageCase {
  kSentences,  // attention over the relation of AttentionCase::kSentences
  kWindow,     // the same over AttentionCase::kWindow
  kRandom,     // the same over AttentionCase::kRandom
  kPowerLaw,   // single operations on a graph of 100 000 nodes and 2 000 000 edges, few nodes of which have most edges
  kCopyTask,   // training steps of the graph tutorial's model (copy_task_bench.h)
};

inline constexpr auto enum_names(MessageCase) {
  return names_in_order<MessageCase>("sentences", "window", "random", "power-law", "copy-task");
}

/// How a result is computed.
enum class MessageWay {
  // Attention.
  kBuiltIn,    // built-in messages, edge_softmax() and built-in reductions
  kTutorial,   // propagate_attention of the graph tutorial: functions of edges, built-in messages and reductions
  kFunctions,  // a message function and a reduce function of the user
  kAttend,     // attend()
  kSoftCap,    // attend() with the score function 50 · tanh(score / 50)
  kAlibi,      // attend() with ALiBi
  kTable,      // attend() with T5's table of relative positions
  // Single operations.
  kSum,      // u_mul_e and sum
  kMean,     // copy_u and mean
  kMaximum,  // copy_u and max
  kDot,      // u_dot_v
  // Training.
  kMessages,  // the model by messages
  kFused,     // the model by attend()
};

inline constexpr auto enum_names(MessageWay) {
  return names_in_order<MessageWay>("built-in", "tutorial", "functions", "attend", "soft-cap", "alibi", "table", "sum",
                                    "mean", "max", "dot", "messages", "fused");
}

/// Returns the ways of a case. All but those that hold several tensors [E, H, K] of a large graph are measured by
/// default.
std::vector<MessageWay> ways_of(MessageCase which);
std::vector<MessageWay> default_ways(MessageCase which);

struct MessageBenchOptions {
  MessageCase which = MessageCase::kSentences;
  std::optional<MessageWay> way = {};  // only this way; none: default_ways()
  std::optional<std::int64_t> heads = {};
  std::optional<std::int64_t> head_size = {};
  std::int64_t repetitions = 20;

  /// Returns the given number, or that of the case: 8 heads of 64; power-law: 1 of 64; copy-task: 1 of 128.
  std::int64_t num_heads() const;
  std::int64_t size_of_head() const;

  /// Returns the ways to measure: `way`, and attend() beside a score function. Throws Error if the case has no `way`.
  std::vector<MessageWay> ways() const;
};

struct MessagePass {
  double seconds = 0.0;        // median over the repetitions
  double bytes = 0.0;          // memory that any way must read and write: each operand and result once
  double row_bytes = 0.0;      // with each row that an edge reads counted anew; 0 for attention
  double limit_seconds = 0.0;  // lower bound: bytes at peak bandwidth, or products at peak speed
};

struct MessageWayBench {
  MessageWay way = MessageWay::kBuiltIn;
  MessagePass forward;
  MessagePass total;              // forward and backward
  std::int64_t extra_memory = 0;  // bytes beyond inputs, result and gradients, forward and backward
  double difference = 0.0;        // from fp64, as largest_difference() returns it; kTensor for single operations
};

struct MessageBench {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::vector<MessageWayBench> ways;
  double peak_bandwidth = 0.0;  // bytes per second of memory

  /// Returns nothing if the way was not measured.
  const MessageWayBench* find(MessageWay way) const;
};

/// Times the ways of a case in turns (timing.h), forward, and forward and backward, on random inputs in fp32 on the
/// CPU. Before, measures the memory of each way, and compares its results with fp64. Throws Error for a way that the
/// case does not have, and as check_difference() does.
MessageBench measure_messages(const MessageBenchOptions& options);

}  // namespace edgewise
