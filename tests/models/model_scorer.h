// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/models/sequence_model.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Returns a TransformerScorer or a UniversalScorer over the parameters of `model`, which are shared, not copied.
std::unique_ptr<Scorer> make_scorer(const SequenceModel& model, CrossHeads recorded = {});

}  // namespace edgewise
