// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "edgewise/graph/relation_terms.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/runtime_scorer.h"

namespace edgewise {

/// Selects the entries of encoder inputs that terms with Direction::kBoth permit, and their positions. Overwrites
/// `selected`, whose entries are those of the batch followed by the lists of rows that do not attend to consecutive
/// tokens. O(rows + selected entries).
void select_entries(std::span<const RelationTerm> terms, const EncoderBatch& batch, AttendedEntries<float>& selected);

}  // namespace edgewise
