// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/apps/open_translator.h"

namespace edgewise {

/// Scorers over the model that training builds. Computes in fp32 alone: throws Error for another precision.
Translator::MakeScorer open_transformer_scorers(ModelFiles files, RuntimePrecision precision);

}  // namespace edgewise
