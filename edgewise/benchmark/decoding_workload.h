// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/benchmark/decoding_bench.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The model, the inputs and the search that a benchmark of decoding measures.
struct DecodingWorkload {
  ScorerFactory make_scorer;  // the model's
  std::vector<Tokens> inputs;
  SearchOptions search;  // forces each output to the length that the benchmark's options give
};

/// Reads options.model; its inputs are the first sentences of options.input as tokens of the model, and a sentence that
/// the model splits is several inputs. Without options.model, makes a model of random parameters, post-norm without
/// final norms; an input has as many random tokens as its sentence would have subwords (words · 5/4 + 1). Throws Error
/// for a file without sentences, and for outputs for which the model has too few positions.
DecodingWorkload make_decoding_workload(const DecodingBenchOptions& options);

}  // namespace edgewise
