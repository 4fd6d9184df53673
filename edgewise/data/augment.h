// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/options/data_options.h"

namespace edgewise {

struct AugmentedPair {
  std::string input;
  std::string output;

  friend bool operator==(const AugmentedPair&, const AugmentedPair&) = default;
};

/// Changes a pair in the ways that the options draw by `seed`; most pairs stay as they are. Capitals change on both
/// sides, and either all letters or the first of each word do. The last stop mark goes if both sides have one and text
/// before it. Typos are in inputs only: one for each eight words, but at least one, each of which swaps, leaves out or
/// doubles letters of a word of at least four.
AugmentedPair augment_pair(std::string_view input, std::string_view output, const AugmentOptions& options,
                           std::uint64_t seed);

}  // namespace edgewise
