// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/search/options.h"

// The options of search in the files of other systems.

namespace edgewise {

inline constexpr std::int64_t kLongestCtranslate2Input = 1024;  // tokens, with those around the sentence

/// Returns the limits and defaults of translate_batch() in CTranslate2, whose files have no options of search. The
/// search itself is another one: CTranslate2 ends the search of a sentence as soon as it has as many outputs as the
/// beam is wide, and an output at the limit of lengths without an end token.
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
