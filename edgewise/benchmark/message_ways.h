// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "edgewise/benchmark/attention_workload.h"
#include "edgewise/benchmark/message_bench.h"

namespace edgewise {

/// One way of message passing over a relation.
struct MessageComputation {
  using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

  std::vector<at::Tensor> inputs;  // fp32
  Function compute;                // in the type of the inputs
  Function define;                 // returns the result that `compute` should have
  Traffic bytes;                   // as in MessagePass
  Traffic row_bytes;
};

/// Makes the way of a case with random inputs; the same way has the same inputs in each call. The relation of the
/// workload must outlive the computation.
MessageComputation make_message_computation(MessageWay way, const AttentionWorkload& workload);

}  // namespace edgewise
