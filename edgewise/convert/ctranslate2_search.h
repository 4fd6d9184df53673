// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/search/options.h"

// The defaults of translate_batch() in CTranslate2, whose files have no options of search.

namespace edgewise {

inline constexpr std::int64_t kLongestCtranslate2Input = 1024;  // tokens, with those around the sentence

/// Returns the limits and defaults in the options of Edgewise. The search itself is another one: CTranslate2 ends the
/// search of a sentence as soon as it has as many outputs as the beam is wide, and an output at the limit of lengths
/// without an end token.
inline SearchOptions ctranslate2_search() {
  constexpr std::int64_t kLongestOutput = 256;
  SearchOptions search;
  search.beam = 2;
  search.length_norm = LengthNorm::kAverage;
  search.length_factor = 0;
  search.stop_loops = false;
  search.min_length = 1;
  search.length_offset = search.max_length = kLongestOutput;
  return search;
}

}  // namespace edgewise
