// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/infer/model_files.h"
#include "edgewise/infer/translator.h"
#include "edgewise/options/precision.h"

namespace edgewise {

/// Packs a model that was read, for a Translator whose scorers share it.
Translator::MakeScorer open_runtime_scorers(ModelFiles files, RuntimePrecision precision);

}  // namespace edgewise
