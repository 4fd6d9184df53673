// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/benchmark/message_bench.h"

namespace edgewise {

struct TrainingWayBench {
  MessageWay way = MessageWay::kMessages;
  double seconds = 0.0;     // median of the steps
  double first_loss = 0.0;  // per token, means over the first and the last quarter of the steps
  double last_loss = 0.0;
};

struct CopyTaskBench {
  std::int64_t sentences = 0;
  std::int64_t output_tokens = 0;  // in a step
  std::vector<TrainingWayBench> ways;

  double tokens_per_second(const TrainingWayBench& way) const {
    return static_cast<double>(output_tokens) / way.seconds;
  }
};

/// Times training steps of the graph tutorial's copy task: forward, backward and Adam for a batch of 128 pairs of 9
/// input tokens and 10 output tokens, in a model of one layer on each side without dropout, whose scores are clamped to
/// [-5, 5]. One model passes messages by the tutorial's functions (Transformer::forward_by_messages), the other calls
/// attend(). Both begin with the same parameters and take steps in turns. Throws Error when the first losses of the
/// models differ, and as loss_trend() does.
CopyTaskBench measure_copy_task(const MessageBenchOptions& options);

}  // namespace edgewise
