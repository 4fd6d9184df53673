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

}  // namespace edgewise
