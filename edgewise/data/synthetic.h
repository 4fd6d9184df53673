// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/options/data_options.h"
#include "edgewise/text/corpus/parallel_text.h"

namespace edgewise {

struct Splits {
  SentencePairs train;
  SentencePairs valid;
  SentencePairs test;
};

/// Makes sentence pairs: the input is random letters, separated by spaces; the output is the same letters copied,
/// reversed or sorted. The copy and sort tasks are those of the graph tutorial (docs/sources.md). Lengths are drawn
/// from N(length_mean, length_deviation), rounded, at least 1; letters are the first `symbols` of the alphabet. Equal
/// options give equal pairs. Each split has its own random stream, so that its pairs do not depend on the sizes of the
/// other splits. Throws Error if the task is DataTask::kText.
Splits make_synthetic(const DataOptions& options);

}  // namespace edgewise
