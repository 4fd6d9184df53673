// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/search/options.h"

namespace edgewise {

/// Returns the exponent of the length by which other systems divide log-probabilities; the nearest one for
/// LengthNorm::kGnmt.
inline double exported_length_penalty(const SearchOptions& search) {
  if (follows_hugging_face(search)) return search.length_penalty;
  if (search.length_norm == LengthNorm::kAverage) return 1.0;
  return search.length_norm == LengthNorm::kNone ? 0.0 : search.length_penalty;
}

/// Returns whether Marian has the lengths of the search: files of Marian then have search.length_factor.
inline bool has_marian_lengths(const SearchOptions& search) {
  return search.kind == SearchKind::kBeam && search.rules == BeamRules::kEdgewise &&
         search.length_norm == LengthNorm::kPower && search.length_offset == 0 && search.max_length == 0 &&
         !search.force_end;
}

}  // namespace edgewise
