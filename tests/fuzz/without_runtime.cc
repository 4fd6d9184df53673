// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/error.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// Stands for the function of runtime_scorers.cc, whose layer takes an hour to build with sanitizers. The readers
/// translate with models of their own.
ScorerFactory make_runtime_scorer_factory(ModelFiles, RuntimePrecision, const CrossHeads&, const StopRequest*) {
  fail("make_runtime_scorer_factory: the runtime is not a part of this program");
}

}  // namespace edgewise
