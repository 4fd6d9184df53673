// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "edgewise/options/precision.h"
#include "edgewise/search/cross_heads.h"

namespace edgewise {

/// What is asked of scorers, whichever model they are of.
struct ScorerOptions {
  RuntimePrecision precision = RuntimePrecision::kFp32;
  CrossHeads attention = {};  // what they show of where a token looks
};

/// Packs a model that was read, for a Translator whose scorers share it. They throw Error for heads that there are not.
Translator::MakeScorer open_runtime_scorers(ModelFiles files, const ScorerOptions& options);

}  // namespace edgewise
