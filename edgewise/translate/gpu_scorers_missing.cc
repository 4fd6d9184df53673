// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/error.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

ScorerFactory make_gpu_scorer_factory(ModelFiles /*files*/, RuntimePrecision /*precision*/,
                                      const CrossHeads& /*recorded_heads*/, const StopRequest* /*stop*/,
                                      std::int64_t gpu) {
  fail("make_gpu_scorer_factory: gpu is {}, needs a program with CUDA; build it with make all CUDA=1", gpu);
}

}  // namespace edgewise
