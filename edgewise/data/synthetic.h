// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/options/data_options.h"
#include "edgewise/text/parallel_text.h"

namespace edgewise {

struct Splits {
  SentencePairs train;
  SentencePairs valid;
  SentencePairs test;
};

/// Letters with spaces between them, and what the task makes of them: the graph tutorial's copy and sort tasks, and
/// reverse. Lengths are drawn from N(length_mean, length_deviation), rounded, at least 1; letters are the first
/// `symbols` of the alphabet. A function of the options; each split draws from a stream of its own, so that the size of
/// one does not change another. Throws Error for the text task.
Splits make_synthetic(const DataOptions& options);

}  // namespace edgewise
