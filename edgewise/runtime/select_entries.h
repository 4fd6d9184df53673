// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/graph/relation_terms.h"
#include "edgewise/runtime/kv_cache.h"

namespace edgewise {

/// Selects the entries that terms permit. Row r is token `positions[r]` of a text, of which all.ranges[r] lists the
/// entries in the order of the tokens: with Direction::kCausal up to the row's own, else all. Overwrites `selected`,
/// whose entries are those of `all` followed by the lists of rows that do not attend to consecutive tokens.
template <typename T>
void select_entries(std::span<const RelationTerm> terms, Direction direction, const AttendedEntries<T>& all,
                    std::span<const std::int64_t> positions, AttendedEntries<T>& selected);

}  // namespace edgewise
