// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "edgewise/base/error.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

// Stand for the functions of runtime_scorers.cc, whose layer takes an hour to build with sanitizers. The readers
// translate with models of their own.

ScorerFactory make_runtime_scorer_factory(ModelFiles, RuntimePrecision, const CrossHeads&, const StopRequest*) {
  fail("make_runtime_scorer_factory: the runtime is not a part of this program");
}

ScorerFactory make_gpu_scorer_factory(ModelFiles, RuntimePrecision, const CrossHeads&, const StopRequest*,
                                      std::int64_t) {
  fail("make_gpu_scorer_factory: the runtime is not a part of this program");
}

}  // namespace edgewise
